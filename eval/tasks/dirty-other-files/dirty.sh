printf '\nHalf a thought\n' >> draft.md
git rm --quiet old.txt
echo mine > scratch.tmp
