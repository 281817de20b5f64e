from rates import discount


def offer(customer, net):
    return f"{net * (100 - discount(customer)) // 100} EUR"
