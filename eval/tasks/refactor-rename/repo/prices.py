def calc(net):
    return net * 119 // 100


def calculate(nets):
    return sum(calc(net) for net in nets)
