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
    for word, count in counts.most_common(top):
        print(word, count)
PYTHON
