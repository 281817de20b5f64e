def pages(items, size):
    """Cuts a list into pages of at most `size` items."""
    found = []
    for start in range(0, len(items) - size, size):
        found.append(items[start:start + size])
    return found
