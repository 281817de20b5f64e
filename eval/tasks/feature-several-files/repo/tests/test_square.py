from calc.commands import COMMANDS

assert COMMANDS["square"](4) == 16
