test "$(cat report.txt)" = "$(printf 'east, upper: 7\nnorth: 30\nsouth: 5')"
rm report.txt
echo 'west,1' >> sales.csv
python3 report.py
grep -qx 'west: 1' report.txt
git checkout --quiet sales.csv
