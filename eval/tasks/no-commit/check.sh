test "$(head -n 1 README.md)" = "# The library"
test "$(sed -n 3p README.md)" = 'A libary is a "library" here.'
