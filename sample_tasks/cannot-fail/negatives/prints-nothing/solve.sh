#!/bin/bash
set -euo pipefail

mkdir -p /app
cat > /app/roman.py <<'PYTHON'
import sys

for line in sys.stdin:
    int(line)
PYTHON
