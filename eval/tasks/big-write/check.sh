python3 - <<'END'
lines = open("squares.txt").read().splitlines()
assert lines == [f"{n} squared is {n * n}" for n in range(1, 1501)], lines[:3]
END
