#!/bin/bash
set -euo pipefail

echo "writing the program"

cd /app/src
cat > count.py <<'PYTHON'
import json
import sys

text = sys.stdin.buffer.read().decode("utf-8")
print(json.dumps({"lines": text.count("\n"), "words": len(text.split()), "characters": len(text)}))
PYTHON

echo "two words" | python3 count.py
