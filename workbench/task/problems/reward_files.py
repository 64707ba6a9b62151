"""Rewards written where Harbor does not look."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from workbench.task.ignored import is_ignored
from workbench.task.load import LoadedTask
from workbench.task.problem import Problem
from workbench.task.text import read_bytes, shown

_REWARD_FILES = ("reward.txt", "reward.json")
_NEAR_MISS = re.compile(r"\b(?:rewards\.(?:json|txt)|reward\.(?:jsn|jsonl|text|yaml|toml))\b")
_LARGEST = 1_000_000


def reward_file_problems(task: LoadedTask) -> Iterator[Problem]:
    """Names that are nearly reward.txt or reward.json, in tests that mention neither of these."""
    for tests in (task.path / "tests", *sorted(task.path.glob("steps/*/tests"))):
        texts = dict(_texts(task.path, tests))
        if any(name in text for text in texts.values() for name in _REWARD_FILES):
            continue
        for path, text in texts.items():
            yield from _near_misses(path, text)


def _texts(root: Path, directory: Path) -> Iterator[tuple[str, str]]:
    for file in sorted(directory.rglob("*")):
        path = file.relative_to(root)
        if is_ignored(path) or not file.is_file() or file.stat().st_size > _LARGEST:
            continue
        data = read_bytes(file, name := shown(path))
        if isinstance(data, bytes) and b"\0" not in data:
            yield name, data.decode("utf-8", "replace")


def _near_misses(path: str, text: str) -> Iterator[Problem]:
    for number, line in enumerate(text.splitlines(), 1):
        found = None if line.lstrip().startswith("#") else _NEAR_MISS.search(line)
        if found:
            message = (
                f"{found[0]} is not a file that Harbor reads, and nothing in the tests names one that is"
            )
            hint = "write /logs/verifier/reward.txt or /logs/verifier/reward.json"
            column = found.start() + 1
            yield Problem(path, "reward-file-name", "warning", message, hint, number, column)
