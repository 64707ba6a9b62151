#!/bin/bash
set -euo pipefail

mkdir -p /app
python3 - <<'PYTHON'
import json
from pathlib import Path

LIMIT = 10_000

sieve = [True] * LIMIT
sieve[0] = sieve[1] = False
for number in range(2, LIMIT):
    if sieve[number]:
        sieve[number * number :: number] = [False] * len(sieve[number * number :: number])
primes = [number for number, prime in enumerate(sieve) if prime]
Path("/app/primes.json").write_text(json.dumps(primes))
print(f"{len(primes)} primes, the last is {primes[-1]}")
PYTHON
