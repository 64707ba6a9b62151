#!/bin/bash
set -euo pipefail

python3 - <<'PYTHON'
import tomllib
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

PRICES = Path("/app/prices.toml")
shelves = tomllib.loads(PRICES.read_text(), parse_float=Decimal)
with PRICES.open("w") as file:
    for shelf, prices in shelves.items():
        print(f"[{shelf}]", file=file)
        for name, price in prices.items():
            raised = (price * Decimal("1.1")).quantize(Decimal("0.01"), ROUND_HALF_UP)
            print(f"{name} = {raised}", file=file)
PYTHON
