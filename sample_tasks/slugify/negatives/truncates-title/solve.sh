#!/bin/bash
set -euo pipefail

mkdir -p /app
cat > /app/slugify.py <<'PYTHON'
import re
import sys
import unicodedata

sys.stdin.reconfigure(encoding="utf-8")
for line in sys.stdin:
    decomposed = unicodedata.normalize("NFD", line)
    plain = "".join(character for character in decomposed if not unicodedata.combining(character))
    slug = re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")
    print(slug[:40].strip("-") or "untitled")
PYTHON
