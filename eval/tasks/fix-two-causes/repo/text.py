def title(text):
    return " ".join(word.capitalize() for word in text.split(" "))


def short(text, width):
    return text if len(text) < width else text[:width - 1] + "…"


def initials(text):
    return "".join(word[0] for word in text.split(" "))
