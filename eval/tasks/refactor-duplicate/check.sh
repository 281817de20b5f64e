test "$(grep -c 'strip()' names.py)" = 1
test "$(grep -c "clean(" names.py)" -ge 4
python3 - <<'END'
from names import clean, greet, label, part
assert clean(" ada  lovelace ") == "Ada Lovelace"
assert greet(" ada ") == "Hello, Ada!"
assert part("ada  l") == "Goodbye, Ada L!"
assert label("ada", "7b") == "7b: Ada"
END
