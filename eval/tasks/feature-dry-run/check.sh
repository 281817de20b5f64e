folder=$(mktemp -d)
touch "$folder/a.bak" "$folder/b c.bak" "$folder/keep.txt"
said=$(sh clean.sh -n "$folder")
test -e "$folder/a.bak"
test -e "$folder/b c.bak"
echo "$said" | grep -q 'b c.bak'
test "$(echo "$said" | wc -l)" = 2
sh clean.sh "$folder"
test ! -e "$folder/a.bak"
test ! -e "$folder/b c.bak"
test -e "$folder/keep.txt"
