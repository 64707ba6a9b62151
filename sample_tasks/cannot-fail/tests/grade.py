"""Run /app/roman.py over the numbers of expected.json and compare what it prints, line by line."""

import json
import subprocess
import sys
from pathlib import Path

expected: dict[str, str] = json.loads(Path("/tests/expected.json").read_text())

run = subprocess.run(
    [sys.executable, "/app/roman.py"],
    input="".join(f"{number}\n" for number in expected),
    capture_output=True,
    text=True,
    timeout=10,
)
if run.returncode != 0:
    sys.exit(f"FAILED test_program_runs: exit code {run.returncode}\n{run.stderr}")
print("passed test_program_runs")

wrong = [
    f"{number}: expected {numeral}, got {got}"
    for (number, numeral), got in zip(expected.items(), run.stdout.splitlines())
    if got != numeral
]
if wrong:
    sys.exit("FAILED test_numerals\n" + "\n".join(wrong))
print("passed test_numerals")
