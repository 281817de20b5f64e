python3 - <<'END'
from pages import pages
assert pages([1, 2, 3], 2) == [[1, 2], [3]], pages([1, 2, 3], 2)
assert pages([1, 2, 3, 4], 2) == [[1, 2], [3, 4]]
assert pages([], 2) == []
END
