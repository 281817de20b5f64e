from store import save as keep


def submit(data):
    return keep(data)
