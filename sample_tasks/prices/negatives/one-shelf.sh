#!/bin/bash
# why = "stops at the end of the first shelf"
# fails = ["test_prices_are_raised_and_rounded"]
set -euo pipefail

python3 - <<'PYTHON'
import re
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

PRICES = Path("/app/prices.toml")
bakery, drinks, rest = PRICES.read_text().partition("[drinks]")


def raised(match: re.Match[str]) -> str:
    return match[1] + str((Decimal(match[2]) * Decimal("1.1")).quantize(Decimal("0.01"), ROUND_HALF_UP))


PRICES.write_text(re.sub(r"(?m)^(\w+\s*=\s*)(\d+\.\d\d)", raised, bakery) + drinks + rest)
PYTHON
