#!/bin/bash
# why = "lists the first ten thousand primes instead of those below ten thousand"
# fails = ["test_only_primes_below_the_limit"]
set -euo pipefail

mkdir -p /app
python3 - <<'PYTHON'
import json
from pathlib import Path

LIMIT = 104_730  # the ten thousandth prime is 104729

sieve = [True] * LIMIT
sieve[0] = sieve[1] = False
for number in range(2, LIMIT):
    if sieve[number]:
        sieve[number * number :: number] = [False] * len(sieve[number * number :: number])
Path("/app/primes.json").write_text(json.dumps([number for number, prime in enumerate(sieve) if prime]))
PYTHON
