import os
from settings import load


def start():
    options = load(os.environ.get("APP_SETTINGS", "settings.ini"))
    return options
