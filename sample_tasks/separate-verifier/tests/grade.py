"""Check /app/primes.json, which Harbor has brought here as an artifact.

Exits 0 when all tests pass. The report is /logs/verifier/ctrf.json (https://ctrf.io).
"""

import json
import sys
import time
from pathlib import Path

ANSWER = Path("/app/primes.json")
REPORT = Path("/logs/verifier/ctrf.json")
LIMIT = 10_000


def is_prime(number: int) -> bool:
    return number > 1 and all(number % divisor for divisor in range(2, int(number**0.5) + 1))


def read_answer() -> tuple[list[int], str]:
    """The numbers in the answer, and why there are none."""
    try:
        answer = json.loads(ANSWER.read_text())
    except FileNotFoundError:
        return [], f"{ANSWER} is not there"
    except ValueError as error:
        return [], f"{ANSWER} is not JSON: {error}"
    if not isinstance(answer, list) or not all(type(number) is int for number in answer):
        return [], f"{ANSWER} is not an array of integers"
    return answer, ""


def some(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers[:5])) + (", ..." if len(numbers) > 5 else "")


def check() -> dict[str, str]:
    """What each test found wrong; empty for one that passed."""
    answer, fault = read_answer()
    if fault:
        return {"test_answer_is_an_array_of_integers": fault}
    primes = [number for number in range(LIMIT) if is_prime(number)]
    foreign = sorted(set(answer).difference(primes))
    missing = sorted(set(primes).difference(answer))
    return {
        "test_answer_is_an_array_of_integers": "",
        "test_only_primes_below_the_limit": f"foreign: {some(foreign)}" if foreign else "",
        "test_all_primes_below_the_limit": f"missing: {some(missing)}" if missing else "",
        "test_rising_order": "" if answer == sorted(set(answer)) else "not in rising order",
    }


started = int(time.time() * 1000)
results = check()
tests = [
    {"name": name, "status": "failed" if wrong else "passed", "duration": 0, "message": wrong}
    for name, wrong in results.items()
]
failed = sum(map(bool, results.values()))
for name, wrong in results.items():
    print(f"FAILED {name}: {wrong}" if wrong else f"passed {name}")
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
report = {"results": {"tool": {"name": "grade.py"}, "summary": summary, "tests": tests}}
REPORT.write_text(json.dumps(report, indent=2))
sys.exit(1 if failed else 0)
