import sys

ITEMS = ["apple", "pear"]


def main(arguments):
    for item in ITEMS:
        print(item)


if __name__ == "__main__":
    main(sys.argv[1:])
