#!/bin/bash
# why = "lets tomlkit write the new prices, which drops their last zero"
# fails = ["test_prices_keep_two_decimals"]
set -euo pipefail

python3 - <<'PYTHON'
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

import tomlkit

PRICES = Path("/app/prices.toml")
document = tomlkit.parse(PRICES.read_text())
for shelf in document.values():
    for name, price in shelf.items():
        shelf[name] = float((Decimal(price.as_string()) * Decimal("1.1")).quantize(Decimal("0.01"), ROUND_HALF_UP))
PRICES.write_text(tomlkit.dumps(document))
PYTHON
