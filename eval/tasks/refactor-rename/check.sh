if grep -rnw calc prices.py shop.py report docs; then exit 1; fi
grep -qw calculate prices.py
grep -q 'price_with_tax(net)' docs/prices.md
PYTHONPATH=. python3 - <<'END'
from prices import calculate, price_with_tax
from shop import show
from report.month import month
assert price_with_tax(100) == 119 and calculate([100, 100]) == 238
assert show(100) == "119 EUR" and month([100]) == [119]
END
