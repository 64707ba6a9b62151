"""Run /app/src/count.py over a few texts and compare its counts."""

import json
import subprocess
import sys

TEXTS = {
    "test_empty_text": ("", {"lines": 0, "words": 0, "characters": 0}),
    "test_one_line": ("two words\n", {"lines": 1, "words": 2, "characters": 10}),
    "test_last_line_without_end": ("one\ntwo", {"lines": 1, "words": 2, "characters": 7}),
    "test_characters_are_code_points": ("crème brûlée\n", {"lines": 1, "words": 2, "characters": 13}),
}


def fault(text: str, expected: dict[str, int]) -> str:
    """What is wrong with the program's counts of `text`; empty when nothing is."""
    run = subprocess.run(
        [sys.executable, "/app/src/count.py"], input=text.encode(), capture_output=True, timeout=10
    )
    if run.returncode != 0:
        return f"exit code {run.returncode}: {run.stderr.decode(errors='replace').strip()}"
    try:
        counts = json.loads(run.stdout)
    except ValueError:
        return f"not JSON: {run.stdout!r}"
    return "" if counts == expected else f"expected {expected}, got {counts}"


failed = 0
for name, (text, expected) in TEXTS.items():
    message = fault(text, expected)
    failed += bool(message)
    print(f"FAILED {name}: {message}" if message else f"passed {name}")
sys.exit(1 if failed else 0)
