def save(item):
    return item


def save_all(items):
    return [save(item) for item in items]
