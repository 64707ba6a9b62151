#!/bin/bash
# why = "is right too, by another way than the reference"
# expect = "pass"
set -euo pipefail

mkdir -p /app
python3 - <<'PYTHON'
import json
from pathlib import Path

primes: list[int] = []
for number in range(2, 10_000):
    if all(number % prime for prime in primes if prime * prime <= number):
        primes.append(number)
Path("/app/primes.json").write_text(json.dumps(primes))
PYTHON
