python3 -m unittest -q test_roman
python3 -c "from roman import roman; assert roman(29) == 'XXIX'"
