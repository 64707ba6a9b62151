"""Runs a command that finds some directories though they lie where its user may not look, such as /root.

`unshare --mount python within_reach.py DIRECTORY... -- COMMAND`: covers what is in the way by an empty
directory, in this mount namespace alone, and puts the directories back in their places there.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path


def main(arguments: list[str]) -> None:
    end = arguments.index("--")
    wanted = [Path(name).resolve() for name in arguments[:end]]
    hidden = [path for path in wanted if _obstacle(path)]
    kept = Path(tempfile.mkdtemp(prefix="workbench-reach-"))
    for number, path in enumerate(hidden):
        (kept / str(number)).mkdir(parents=True)
        _mount("--bind", str(path), str(kept / str(number)))
    for obstacle in {_obstacle(path) for path in hidden}:
        _mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", str(obstacle))
    for number, path in enumerate(hidden):
        path.mkdir(parents=True, exist_ok=True)
        _mount("--move", str(kept / str(number)), str(path))
    shutil.rmtree(kept)
    os.execvp(arguments[end + 1], arguments[end + 1 :])


def _obstacle(path: Path) -> Path | None:
    """The topmost directory on the way that others may not enter."""
    return next((up for up in reversed(path.parents) if up.stat().st_mode & 0o001 == 0), None)


def _mount(*words: str) -> None:
    subprocess.run(["mount", *words], check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
