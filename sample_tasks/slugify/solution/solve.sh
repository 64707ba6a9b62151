#!/bin/bash
set -euo pipefail

mkdir -p /app
cat > /app/slugify.py <<'PYTHON'
import re
import sys
import unicodedata

LIMIT = 40


def slugify(title: str) -> str:
    decomposed = unicodedata.normalize("NFD", title)
    plain = "".join(character for character in decomposed if not unicodedata.combining(character))
    slug = re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")
    if len(slug) > LIMIT:
        words = slug[: LIMIT + 1]
        slug = words.rpartition("-")[0] or slug[:LIMIT]
    return slug or "untitled"


sys.stdin.reconfigure(encoding="utf-8")
for line in sys.stdin:
    print(slugify(line))
PYTHON

echo "Hello, World!" | python3 /app/slugify.py
