"""Check /app/faulty.txt, which Harbor has brought here as an artifact.

Exits 0 when all tests pass. The report is /logs/verifier/ctrf.json (https://ctrf.io).
"""

import json
import sys
import time
from pathlib import Path

ANSWER = Path("/app/faulty.txt")
EXPECTED = Path("/tests/expected.txt").read_text().split()
REPORT = Path("/logs/verifier/ctrf.json")


def check() -> dict[str, str]:
    """What each test found wrong; empty for one that passed."""
    if not ANSWER.exists():
        return {"test_there_is_an_answer": f"{ANSWER} is not there"}
    answer = ANSWER.read_text().split()
    missing = sorted(set(EXPECTED).difference(answer))
    sound = sorted(set(answer).difference(EXPECTED))
    return {
        "test_there_is_an_answer": "",
        "test_all_faulty_sensors_are_found": f"missing: {' '.join(missing)}" if missing else "",
        "test_no_sound_sensor_is_blamed": f"sound: {' '.join(sound)}" if sound else "",
        "test_sorted": "" if answer == sorted(answer) else "not sorted",
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
