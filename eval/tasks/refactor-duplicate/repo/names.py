def greet(name):
    name = name.strip().replace("  ", " ").title()
    return f"Hello, {name}!"


def part(name):
    name = name.strip().replace("  ", " ").title()
    return f"Goodbye, {name}!"


def label(name, room):
    name = name.strip().replace("  ", " ").title()
    return f"{room}: {name}"
