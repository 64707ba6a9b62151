#!/bin/bash
set -euo pipefail

mkdir -p /app
cat > /app/roman.py <<'PYTHON'
import sys

for line in sys.stdin:
    number, text = int(line), ""
    for value, numeral in zip((1000, 500, 100, 50, 10, 5, 1), "MDCLXVI"):
        count, number = divmod(number, value)
        text += numeral * count
    print(text)
PYTHON
