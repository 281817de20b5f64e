from rates import discount


def total(customer, net):
    return net * (100 - discount(customer)) // 100
