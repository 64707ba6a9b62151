#!/bin/bash
set -euo pipefail

cat > /app/words.py <<'PYTHON'
import re
import sys
from collections import Counter

counts = Counter(re.findall("[a-z]+", sys.stdin.read().lower()))
for word, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[: int(sys.argv[2])]:
    print(word, count)
PYTHON
