#!/bin/bash
set -euo pipefail

mkdir -p /app
cat > /app/slugify.py <<'PYTHON'
import re
import sys

LIMIT = 40

sys.stdin.reconfigure(encoding="utf-8")
sys.stdout.reconfigure(encoding="utf-8")
for line in sys.stdin:
    slug = re.sub(r"[\W_]+", "-", line.lower()).strip("-")
    if len(slug) > LIMIT:
        slug = slug[: LIMIT + 1].rpartition("-")[0] or slug[:LIMIT]
    print(slug or "untitled")
PYTHON
