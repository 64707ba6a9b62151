"""A small sound task to spoil, and the command line to check it with."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

CONFIG = """\
schema_version = "1.4"

[task]
name = "tests/plain"

[metadata.harbor.lint]
ignore = ["shared-verifier"]

[environment]
docker_image = "python:3.12-slim"
network_mode = "no-network"

[agent]
timeout_sec = 20.0

[verifier]
timeout_sec = 20.0
"""
TEST = """\
#!/bin/bash
reward=0
trap 'echo "$reward" > /logs/verifier/reward.txt' EXIT
# here
[ -f /tmp/answer ] && reward=1
"""


def write_task(path: Path) -> Path:
    """A task that holds: the oracle leaves /tmp/answer, its one negative another file."""
    for name, text in {
        "task.toml": CONFIG,
        "instruction.md": "Write /tmp/answer.\n",
        "solution/solve.sh": "#!/bin/bash\ntouch /tmp/answer\n",
        "tests/test.sh": TEST,
        "negatives/elsewhere.sh": "#!/bin/bash\ntouch /tmp/anser\n",
    }.items():
        file = path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return path


def check(state: Path, *args: object, wrapper: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
    """Run `workbench check`, with the runs it keeps under `state`; a test that fails shows what it said."""
    done = subprocess.run(
        [*wrapper, *command(*args)],
        env=os.environ | {"XDG_STATE_HOME": str(state)},
        capture_output=True,
        text=True,
        check=False,
    )
    sys.stderr.write(done.stderr)
    return done


def command(*args: object) -> list[str]:
    words = (sys.executable, "-m", "workbench", "check", "--provider", "bubblewrap", *args)
    return [str(word) for word in words]
