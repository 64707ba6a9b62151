#!/bin/bash
set -euo pipefail

python3 - <<'PYTHON'
import re
from pathlib import Path

PRICES = Path("/app/prices.toml")
text = PRICES.read_text()
raised = re.sub(r"(?m)^(\w+\s*=\s*)(\d+\.\d\d)", lambda m: f"{m[1]}{round(float(m[2]) * 1.1, 2):.2f}", text)
PRICES.write_text(raised)
PYTHON
