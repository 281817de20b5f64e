from calc.commands import COMMANDS

assert COMMANDS["half"](4) == 2
