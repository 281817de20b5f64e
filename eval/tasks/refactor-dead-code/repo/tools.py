def used(text):
    return text.upper()


def old_way(text):
    return helper(text)


def helper(text):
    return text.lower()


def by_name(text):
    return text[::-1]
