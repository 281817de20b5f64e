#!/bin/sh
# Stops at the first failure.
set -e
python3 -c 'from text import title; assert title("a b") == "A B"'
python3 -c 'from text import short; assert short("abcd", 4) == "abcd", "short: " + short("abcd", 4)'
python3 -c 'from text import initials; assert initials("ada  lovelace") == "al", "initials"'
echo all passed
