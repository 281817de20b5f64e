import tools

ACTIONS = ["by_name"]


def main(text):
    for action in ACTIONS:
        text = getattr(tools, action)(text)
    return tools.used(text)
