"""Other tasks that can be gone to: those beside the one that is open, and those looked at before."""

from __future__ import annotations

from pathlib import Path

from workbench.task.marked import CONFIG
from workbench.ui import remembered

_MOST = 500


def others(task: Path) -> list[Path]:
    """Tasks by directory, those looked at last first, then those beside this one. Looks at the disk."""
    before = [Path(name) for name in reversed(remembered.load().tasks)]
    try:
        beside = sorted(path.parent for path in task.parent.glob(f"*/{CONFIG}"))
    except OSError:
        beside = []
    known = dict.fromkeys((*before, *beside))
    known.pop(task, None)
    return [path for path in known if _is_task(path)][:_MOST]


def _is_task(path: Path) -> bool:
    try:
        return (path / CONFIG).is_file()
    except OSError:  # another user's directory
        return False
