sh test.sh > /dev/null
