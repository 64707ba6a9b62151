#!/bin/bash
set -euo pipefail

python3 - <<'PYTHON'
import re
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

PRICES = Path("/app/prices.toml")


def raised(match: re.Match[str]) -> str:
    price = (Decimal(match[2]) * Decimal("1.1")).quantize(Decimal("0.01"), ROUND_HALF_UP)
    return match[1] + str(price)


PRICES.write_text(re.sub(r"(?m)^(\w+\s*=\s*)(\d+\.\d\d)", raised, PRICES.read_text()))
PYTHON

python3 -c 'import tomlkit; tomlkit.parse(open("/app/prices.toml").read())'
