def discount(customer):
    """The customer's discount in percent."""
    return customer.get("discount") or 1
