sh test.sh
python3 -c 'from text import short; assert short("abcde", 4) == "abc…"'
