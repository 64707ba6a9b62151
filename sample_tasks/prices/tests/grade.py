"""Check /app/prices.toml; prints a report (https://ctrf.io)."""

import json
import re
import time
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

BEFORE = Path("/tests/before.toml").read_text()
ANSWER = Path("/app/prices.toml")
PRICE = re.compile(r"(?m)^(\w+)(\s*=\s*)(\d+(?:\.\d+)?)")


def expected(price: str) -> str:
    return str((Decimal(price) * Decimal("1.1")).quantize(Decimal("0.01"), ROUND_HALF_UP))


def check() -> dict[str, str]:
    """What each test found wrong; empty for one that passed."""
    answer = ANSWER.read_text() if ANSWER.exists() else ""
    found = {name: price for name, _, price in PRICE.findall(answer)}
    wanted = {name: expected(price) for name, _, price in PRICE.findall(BEFORE)}
    wrong = {name: found.get(name, "missing") for name in wanted if found.get(name) != wanted[name]}
    rounding = {name: price for name, price in wrong.items() if price != "missing" and float(price) == float(wanted[name])}
    value = [f"{name} is {price}, not {wanted[name]}" for name, price in wrong.items() if name not in rounding]
    form = [f"{name} is {price}, not {wanted[name]}" for name, price in rounding.items()]
    rest = PRICE.sub(r"\1\2", answer) == PRICE.sub(r"\1\2", BEFORE)
    return {
        "test_prices_are_raised_and_rounded": "; ".join(value),
        "test_prices_keep_two_decimals": "; ".join(form),
        "test_nothing_else_is_changed": "" if rest else "comments, order or spacing differ",
    }


started = int(time.time() * 1000)
results = check()
tests = [
    {"name": name, "status": "failed" if wrong else "passed", "duration": 0, "message": wrong}
    for name, wrong in results.items()
]
failed = sum(map(bool, results.values()))
summary = {
    "tests": len(tests),
    "passed": len(tests) - failed,
    "failed": failed,
    "skipped": 0,
    "pending": 0,
    "other": 0,
    "start": started,
    "stop": int(time.time() * 1000),
}
print(json.dumps({"results": {"tool": {"name": "grade.py"}, "summary": summary, "tests": tests}}, indent=2))
