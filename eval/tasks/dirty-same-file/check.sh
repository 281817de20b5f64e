python3 -c 'import math; from shapes import area; assert math.isclose(area(3), math.pi * 9)'
grep -q 'TODO: units?' shapes.py
grep -q 'def volume' shapes.py
