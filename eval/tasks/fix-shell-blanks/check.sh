folder=$(mktemp -d)
printf 'a\nb\n' > "$folder/one.txt"
printf 'c\n' > "$folder/two words.txt"
test "$(sh count.sh "$folder")" = 3
