#!/bin/bash
set -euo pipefail

mkdir -p /app
cat > /app/words.py <<'PYTHON'
import json
import re
import sys
from collections import Counter

print(json.dumps(Counter(re.findall("[A-Za-z]+", sys.stdin.read()))))
PYTHON
