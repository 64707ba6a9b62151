"""A small sound task to break in one way at a time."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import pytest

SOUND: dict[str, str | bytes | None] = {
    "task.toml": """\
schema_version = "1.4"

[task]
name = "demo/greet"

[environment]
docker_image = "python:3.12-slim"

[verifier]
environment_mode = "separate"
timeout_sec = 30.0
""",
    "instruction.md": "Write `hello` into /app/out.txt.\n",
    "solution/solve.sh": "#!/bin/bash\necho hello > /app/out.txt\n",
    "tests/test.sh": (
        "#!/bin/bash\nmkdir -p /logs/verifier\nreward=0\n"
        "grep -q hello /app/out.txt && reward=1\necho $reward > /logs/verifier/reward.txt\n"
    ),
}


class MakeTask(Protocol):
    def __call__(self, changes: Mapping[str, str | bytes | None] = ..., /, *, name: str = ...) -> Path: ...


@pytest.fixture
def make_task(tmp_path: Path) -> MakeTask:
    """Writes a sound task with changes to some of its files; None leaves one out."""

    def make(changes: Mapping[str, str | bytes | None] = {}, /, *, name: str = "greet") -> Path:
        root = tmp_path / name
        root.mkdir(parents=True)
        write(root, {**SOUND, **changes})
        return root

    return make


def write(root: Path, files: Mapping[str, str | bytes | None]) -> None:
    for path, content in files.items():
        if content is None:
            (root / path).unlink(missing_ok=True)
            continue
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content.encode() if isinstance(content, str) else content)
