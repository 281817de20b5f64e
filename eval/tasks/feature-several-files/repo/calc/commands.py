def half(number):
    return number / 2


def square(number):
    return number * number


COMMANDS = {"half": half, "square": square}
