#!/bin/bash
set -euo pipefail

cat > /app/words.py <<'PYTHON'
import argparse
import json
import re
import sys
from collections import Counter

parser = argparse.ArgumentParser()
parser.add_argument("--top", type=int)
top = parser.parse_args().top

counts = Counter(re.findall("[a-z]+", sys.stdin.read().lower()))
if top is None:
    print(json.dumps(counts))
else:
    for word, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:top]:
        print(word, count)
PYTHON

echo "Tea or tea" | python3 /app/words.py --top 1
