#!/bin/bash
set -euo pipefail

mkdir -p /app
cat > /app/roman.py <<'PYTHON'
import sys

NUMERALS = {
    1000: "M", 900: "CM", 500: "D", 400: "CD", 100: "C", 90: "XC",
    50: "L", 40: "XL", 10: "X", 9: "IX", 5: "V", 4: "IV", 1: "I",
}


def roman(number: int) -> str:
    text = ""
    for value, numeral in NUMERALS.items():
        count, number = divmod(number, value)
        text += numeral * count
    return text


for line in sys.stdin:
    print(roman(int(line)))
PYTHON

echo 1994 | python3 /app/roman.py
