"""Run /app/slugify.py once over every title of expected.json, and report each test.

Exits 0 when all tests pass. The report is /logs/verifier/ctrf.json (https://ctrf.io).
"""

import json
import subprocess
import sys
import time
from pathlib import Path

PROGRAM = Path("/app/slugify.py")
EXPECTED = Path("/tests/expected.json")
REPORT = Path("/logs/verifier/ctrf.json")
TIMEOUT_SEC = 10


def slugs_of(titles: list[str]) -> tuple[list[str], str]:
    """What the program prints for `titles`, a slug each, and what was wrong with the run."""
    try:
        run = subprocess.run(
            [sys.executable, PROGRAM],
            input="".join(f"{title}\n" for title in titles).encode(),
            capture_output=True,
            timeout=TIMEOUT_SEC,
        )
    except subprocess.TimeoutExpired:
        return [], f"the program took longer than {TIMEOUT_SEC} s"
    slugs = run.stdout.decode(errors="replace").splitlines()
    if run.returncode != 0:
        last = run.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["no message"]
        return slugs, f"the program ended with exit code {run.returncode}: {last[0]}"
    if len(slugs) != len(titles):
        return slugs, f"{len(titles)} titles gave {len(slugs)} lines"
    return slugs, ""


def main() -> int:
    expected: dict[str, dict[str, str]] = json.loads(EXPECTED.read_text(encoding="utf-8"))
    titles = [title for pairs in expected.values() for title in pairs]
    started = time.time()
    slugs, fault = slugs_of(titles)
    got = dict(zip(titles, slugs))

    results = {"test_program_runs": [fault] if fault else []}
    for name, pairs in expected.items():
        results[name] = [
            f"{title!r}: expected {slug!r}, got {got.get(title)!r}"
            for title, slug in pairs.items()
            if got.get(title) != slug
        ]

    for name, wrong in results.items():
        print(f"{'FAILED' if wrong else 'passed'} {name}")
        for line in wrong:
            print(f"       {line}")
    write_report(results, started)
    failed = sum(map(bool, results.values()))
    print(f"{len(results) - failed} of {len(results)} tests passed")
    return 1 if failed else 0


def write_report(results: dict[str, list[str]], started: float) -> None:
    tests = [
        {
            "name": name,
            "status": "failed" if wrong else "passed",
            "duration": 0,
            "message": "\n".join(wrong),
        }
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
        "start": int(started * 1000),
        "stop": int(time.time() * 1000),
    }
    report = {"results": {"tool": {"name": "grade.py"}, "summary": summary, "tests": tests}}
    REPORT.write_text(json.dumps(report, indent=2), encoding="utf-8")


sys.exit(main())
