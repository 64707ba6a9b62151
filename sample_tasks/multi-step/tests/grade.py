"""Run /app/words.py as each test of a step says and compare what it prints.

Usage: grade.py EXPECTED. Exits 0 when all tests pass. The report is /logs/verifier/ctrf.json (https://ctrf.io).
"""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

PROGRAM = "/app/words.py"
REPORT = Path("/logs/verifier/ctrf.json")


def fault(test: dict[str, Any]) -> str:
    """What is wrong with the program's answer; empty when nothing is."""
    command = [sys.executable, PROGRAM, *test["arguments"]]
    try:
        run = subprocess.run(command, input=test["text"], capture_output=True, text=True, timeout=10)
    except subprocess.TimeoutExpired:
        return "it took longer than 10 s"
    if run.returncode != 0:
        return f"exit code {run.returncode}: {run.stderr.strip()}"
    if "lines" in test:
        got: object = run.stdout.splitlines()
        expected = test["lines"]
    else:
        expected = test["counts"]
        try:
            got = json.loads(run.stdout)
        except ValueError:
            return f"expected JSON, got {run.stdout!r}"
    return "" if got == expected else f"expected {expected}, got {got}"


started = int(time.time() * 1000)
results = {name: fault(test) for name, test in json.loads(Path(sys.argv[1]).read_text()).items()}
for name, wrong in results.items():
    print(f"FAILED {name}: {wrong}" if wrong else f"passed {name}")

failed = sum(map(bool, results.values()))
tests = [
    {"name": name, "status": "failed" if wrong else "passed", "duration": 0, "message": wrong}
    for name, wrong in results.items()
]
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
