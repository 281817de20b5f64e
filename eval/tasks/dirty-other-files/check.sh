test "$(python3 hello.py)" = 'Hello!'
test "$(cat draft.md)" = "$(printf '# Draft\n\nHalf a thought')"
test ! -e old.txt
test "$(cat scratch.tmp)" = mine
git diff --cached --name-only | grep -qx old.txt
