LOWEST = 1
HIGHEST = 4000


def allowed(number):
    return LOWEST <= number < HIGHEST
