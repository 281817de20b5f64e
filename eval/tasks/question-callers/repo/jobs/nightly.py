import store


def nightly(items):
    return store.save_all(items)


def repair(item):
    return store.save(item)
