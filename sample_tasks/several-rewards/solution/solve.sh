#!/bin/bash
set -euo pipefail

mkdir -p /app
cat > /app/ini2json.py <<'PYTHON'
import configparser
import json
import re
import sys


def typed(value: str) -> str | int | bool:
    if value.lower() in ("true", "false"):
        return value.lower() == "true"
    return int(value) if re.fullmatch(r"[+-]?[0-9]+", value) else value


parser = configparser.ConfigParser(interpolation=None)
parser.read_string(sys.stdin.buffer.read().decode("utf-8"))
sections = {
    name: {option: typed(value) for option, value in parser[name].items()} for name in parser.sections()
}
print(json.dumps(sections))
PYTHON

printf '[server]\nPort = 80\n' | python3 /app/ini2json.py
