#!/bin/bash
set -euo pipefail

mkdir -p /app
cat > /app/words.py <<'PYTHON'
import json
import re
import sys
from collections import Counter

print(json.dumps(Counter(re.findall("[a-z]+", sys.stdin.read().lower()))))
PYTHON

echo "Tea or tea" | python3 /app/words.py
