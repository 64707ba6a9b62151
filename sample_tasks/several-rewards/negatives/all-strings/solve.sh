#!/bin/bash
set -euo pipefail

mkdir -p /app
cat > /app/ini2json.py <<'PYTHON'
import configparser
import json
import sys

parser = configparser.ConfigParser(interpolation=None)
parser.read_string(sys.stdin.buffer.read().decode("utf-8"))
print(json.dumps({name: dict(parser[name]) for name in parser.sections()}))
PYTHON
