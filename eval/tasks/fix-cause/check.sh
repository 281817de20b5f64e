python3 - <<'END'
from invoice import total
from quote import offer
assert total({}, 1000) == 1000, total({}, 1000)
assert total({"discount": 10}, 1000) == 900
assert total({"discount": 0}, 1000) == 1000
assert offer({}, 1000) == "1000 EUR", offer({}, 1000)
END
