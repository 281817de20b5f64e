test "$(python3 list.py)" = "$(printf 'apple\npear')"
python3 list.py --json | python3 -c 'import json, sys; assert json.load(sys.stdin) == ["apple", "pear"]'
grep -q -- --json README.md
