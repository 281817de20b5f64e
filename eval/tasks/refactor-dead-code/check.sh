if grep -nE 'old_way|helper' tools.py NOTES.md; then exit 1; fi
grep -q by_name NOTES.md
grep -q used NOTES.md
python3 -c 'from main import main; assert main("ab") == "BA"'
