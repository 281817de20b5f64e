python3 - <<'END'
from valid import is_address
for good in ["a@b.de", "first.last@sub.example.org"]:
    assert is_address(good), good
for bad in ["a@b", "a b@c.de", "a@b@c.de", "@c.de", "a@c.de x", ""]:
    assert not is_address(bad), bad
END
