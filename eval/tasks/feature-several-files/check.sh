python3 -c 'from calc.commands import COMMANDS; assert COMMANDS["double"](3) == 6; assert set(COMMANDS) == {"half", "square", "double"}'
grep -q '^double NUMBER' calc/help.txt
grep -rl double tests | grep -q .
sh test.sh
