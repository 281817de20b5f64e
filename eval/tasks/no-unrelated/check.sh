python3 -c 'from ledger import tax; assert tax(50) == 10, tax(50); assert tax(100) == 19; assert tax(2) == 0'
test "$(git diff --numstat ledger.py | cut -f 2)" -le 2
grep -q 'def  add( a,b ) :' ledger.py
grep -q 'def unused( ) : pass' ledger.py
