#!/bin/bash
# why = "takes yes and no for booleans, and fractions for numbers"
# fails = ["test_all_else_stays_text"]
set -euo pipefail

mkdir -p /app
cat > /app/ini2json.py <<'PYTHON'
import configparser
import json
import sys

WORDS = configparser.ConfigParser.BOOLEAN_STATES


def typed(value: str) -> object:
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            pass
    return WORDS.get(value.lower(), value)


parser = configparser.ConfigParser(interpolation=None)
parser.read_string(sys.stdin.buffer.read().decode("utf-8"))
sections = {
    name: {option: typed(value) for option, value in parser[name].items()} for name in parser.sections()
}
print(json.dumps(sections))
PYTHON
