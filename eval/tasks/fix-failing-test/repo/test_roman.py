import unittest

from roman import roman


class Roman(unittest.TestCase):
    def test_small(self):
        self.assertEqual(roman(4), "IV")

    def test_nine(self):
        self.assertEqual(roman(9), "IX")

    def test_many(self):
        self.assertEqual(roman(19), "XIX")


if __name__ == "__main__":
    unittest.main()
