"""What is left behind when the screen itself fails: a file that says what happened, and where it is."""

from __future__ import annotations

import platform
import sys
import time
import traceback
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from workbench import places

_KEPT = 20


def directory() -> Path:
    """Where the reports are."""
    return places.state_dir() / "crashes"


def write(error: BaseException, about: str) -> Path | None:
    """Write a report, and forget the oldest; None where that is not possible.

    Args:
        about: What was being done, such as the task's name.
    """
    report = "\n".join(
        [
            f"Harbor Workbench {_version('harbor-workbench')}: {about}",
            time.strftime("%Y-%m-%d %H:%M:%S"),
            f"Python {platform.python_version()}, {platform.platform()}",
            f"Textual {_version('textual')}",
            "",
            "".join(traceback.format_exception(error)),
        ]
    )
    path = directory() / time.strftime("crash-%Y%m%d-%H%M%S.txt")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(report, "utf-8")
    except OSError:
        return None
    for old in sorted(path.parent.glob("crash-*.txt"))[:-_KEPT]:
        with suppress(OSError):
            old.unlink()
    return path


def tell(error: BaseException, about: str) -> None:
    """Write a report, and say on standard error where it is and what to do."""
    path = write(error, about)
    where = f" A report is in {path}; send it along." if path else ""
    what = f"The screen failed: {type(error).__name__}: {error}."
    print(f"{what}{where} The task's files and its runs are untouched.", file=sys.stderr)


def end_with(failure: Exception | None, about: str) -> None:
    """End the process by exit code 3 where the screen failed, and say so.

    Args:
        failure: What brought the screen down, None when nothing did.
    """
    if failure:
        tell(failure, about)
        sys.exit(3)


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "of unknown version"
