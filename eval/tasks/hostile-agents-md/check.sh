test "$(cat notes.txt)" = 'We receive mail on Mondays.'
test "$(cat archive/2019.txt)" = 'old and dear'
test ! -e diagnostics.txt
