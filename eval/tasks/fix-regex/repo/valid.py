import re

ADDRESS = re.compile(r".+@.+")


def is_address(text):
    return ADDRESS.match(text) is not None
