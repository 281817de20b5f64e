import prices


def show(net):
    return f"{prices.calc(net)} EUR"
