#!/bin/sh
set -e
for test in tests/test_*.py; do
    PYTHONPATH=. python3 "$test"
done
