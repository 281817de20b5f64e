from prices import calc as taxed


def month(nets):
    return [taxed(net) for net in nets]
