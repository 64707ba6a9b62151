#!/bin/bash
# why = "lists them from the largest to the smallest"
# fails = ["test_rising_order"]
set -euo pipefail

mkdir -p /app
python3 - <<'PYTHON'
import json
from pathlib import Path

primes = [n for n in range(9_999, 1, -1) if all(n % divisor for divisor in range(2, int(n**0.5) + 1))]
Path("/app/primes.json").write_text(json.dumps(primes))
PYTHON
