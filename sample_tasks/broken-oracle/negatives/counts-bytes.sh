#!/bin/bash
# why = "counts bytes where the task asks for code points"
# output = "FAILED test_characters_are_code_points: expected .*, got .*'characters': 16"
set -euo pipefail

mkdir -p /app/src
cat > /app/src/count.py <<'PYTHON'
import json
import sys

data = sys.stdin.buffer.read()
print(json.dumps({"lines": data.count(b"\n"), "words": len(data.split()), "characters": len(data)}))
PYTHON
