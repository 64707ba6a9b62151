#!/bin/bash
set -euo pipefail

mkdir -p /app
python3 - <<'PYTHON'
import json
from pathlib import Path

primes = [n for n in range(2, 10_000) if all(n % divisor for divisor in range(2, int(n**0.5) + 1))]
Path("/app/answer.json").write_text(json.dumps(primes))
PYTHON
