"""Run /app/ini2json.py over an INI file and grade its structure and its types.

/logs/verifier/reward.json has the share of passed tests of each kind, and `reward`: 1 when all tests pass, else 0.
The report is /logs/verifier/ctrf.json (https://ctrf.io).
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PROGRAM = "/app/ini2json.py"
LOGS = Path("/logs/verifier")
INI = """\
; what every host has
[DEFAULT]
Port = 8080
secure = TRUE

[Web Server]
name = café
# the port of [DEFAULT] does not count here
port = 443
retries = -3

[cache]
size = 12MB
ratio = 0.5
share = 50%
secure = no
"""

Sections = dict[str, dict[str, Any]]

STRUCTURE: dict[str, Callable[[Sections], bool]] = {
    "test_sections_but_default": lambda got: sorted(got) == ["Web Server", "cache"],
    "test_options_in_lower_case": lambda got: sorted(got["Web Server"]) == ["name", "port", "retries", "secure"],
    "test_defaults_where_not_set": lambda got: str(got["cache"]["port"]) == "8080",
    "test_own_value_before_default": lambda got: str(got["Web Server"]["port"]) == "443",
    "test_values_as_written": lambda got: (got["Web Server"]["name"], got["cache"]["share"]) == ("café", "50%"),
}
TYPES: dict[str, Callable[[Sections], bool]] = {
    "test_integers": lambda got: is_exactly(got["Web Server"]["port"], 443),
    "test_negative_integers": lambda got: is_exactly(got["Web Server"]["retries"], -3),
    "test_booleans": lambda got: is_exactly(got["Web Server"]["secure"], True),
    "test_all_else_stays_text": lambda got: [got["cache"][key] for key in ("size", "ratio", "secure")]
    == ["12MB", "0.5", "no"],
}


def is_exactly(value: Any, expected: Any) -> bool:
    """Equal and of one type, for in Python `True == 1`."""
    return type(value) is type(expected) and value == expected


def run_program() -> tuple[Sections, str]:
    """The sections that the program prints, and why there are none."""
    try:
        run = subprocess.run([sys.executable, PROGRAM], input=INI.encode(), capture_output=True, timeout=10)
    except subprocess.TimeoutExpired:
        return {}, "the program took longer than 10 s"
    if run.returncode != 0:
        return {}, f"exit code {run.returncode}: {run.stderr.decode(errors='replace').strip()}"
    try:
        sections = json.loads(run.stdout)
    except ValueError as error:
        return {}, f"it did not print JSON: {error}"
    if not isinstance(sections, dict) or not all(isinstance(options, dict) for options in sections.values()):
        return {}, "it did not print an object of objects"
    return sections, ""


def passes(test: Callable[[Sections], bool], sections: Sections) -> bool:
    try:
        return test(sections)
    except (KeyError, TypeError):
        return False


started = int(time.time() * 1000)
sections, fault = run_program()
results = {name: passes(test, sections) for name, test in (STRUCTURE | TYPES).items()}
if fault:
    print(fault)
    results = dict.fromkeys(results, False)
for name, passed in results.items():
    print(f"passed {name}" if passed else f"FAILED {name}")

failed = list(results.values()).count(False)
rewards = {
    "reward": 0 if failed else 1,
    "structure": round(sum(results[name] for name in STRUCTURE) / len(STRUCTURE), 3),
    "types": round(sum(results[name] for name in TYPES) / len(TYPES), 3),
}
(LOGS / "reward.json").write_text(json.dumps(rewards))

tests = [
    {"name": name, "status": "passed" if passed else "failed", "duration": 0, "message": "" if passed else fault}
    for name, passed in results.items()
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
(LOGS / "ctrf.json").write_text(json.dumps(report, indent=2))
