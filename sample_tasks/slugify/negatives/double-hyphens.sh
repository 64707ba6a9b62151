#!/bin/bash
# why = "turns each separator into a hyphen of its own"
# fails = ["test_runs_of_separators_become_one_hyphen"]
set -euo pipefail

mkdir -p /app
cat > /app/slugify.py <<'PYTHON'
import re
import sys
import unicodedata

LIMIT = 40

sys.stdin.reconfigure(encoding="utf-8")
for line in sys.stdin:
    decomposed = unicodedata.normalize("NFD", line)
    plain = "".join(character for character in decomposed if not unicodedata.combining(character))
    slug = re.sub(r"[^a-z0-9]", "-", plain.lower()).strip("-")
    if len(slug) > LIMIT:
        slug = slug[: LIMIT + 1].rpartition("-")[0] or slug[:LIMIT]
    print(slug or "untitled")
PYTHON
