#!/bin/sh
python3 - <<'END'
from limits import allowed

for number in range(1, 4001):
    good = allowed(number)
    print(f"case {number} of 4000 ... {'ok' if good else 'FAILED: must be allowed'}")
    if not good:
        raise SystemExit(1)
raise SystemExit(1 if allowed(4001) or allowed(0) else 0)
END
