"""What the screen looked like last time: a small file of the workbench's own, beside the trials."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

import msgspec

from workbench import places

_TASKS_KEPT = 200


class TaskLook(msgspec.Struct):
    """How one task was looked at."""

    case: str = ""
    """The selected case."""
    tab: str = ""
    """The tab of the run pane."""
    marked: tuple[str, ...] | str = ()
    """The runs that were marked, as `marks` has them. Earlier versions kept one, as a string."""
    order: str = ""
    """In which order cases were listed."""
    only: str = ""
    """Which cases were listed."""
    left: int = 0
    """Cells of the left column; 0 for what the screen gives it."""
    shells: int = 0
    """Lines of the shells; 0 for what the screen gives them."""

    @property
    def marks(self) -> tuple[str, ...]:
        """The runs that were marked, by their `lasting_id`, the one marked first before the other."""
        if isinstance(self.marked, str):
            return (self.marked,) if self.marked else ()
        return self.marked


class Look(msgspec.Struct):
    """How everything was looked at."""

    theme: str = ""
    tasks: dict[str, TaskLook] = {}
    """By directory, the one looked at last at the end."""


def file() -> Path:
    """Where it is kept."""
    return places.state_dir() / "screen.json"


def is_there() -> bool:
    """Whether anything was ever kept, as far as this user may know."""
    try:
        return file().exists()
    except OSError:
        return True


def load() -> Look:
    """What was kept; nothing where that cannot be read."""
    try:
        return msgspec.json.decode(file().read_bytes(), type=Look)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return Look()


def keep(task: str, theme: str, look: TaskLook) -> None:
    """Keep how a task was looked at. What another screen kept meanwhile for other tasks stays."""
    kept = load()
    kept.theme = theme
    kept.tasks.pop(task, None)
    kept.tasks[task] = look
    kept.tasks = dict(list(kept.tasks.items())[-_TASKS_KEPT:])
    with suppress(OSError):
        path = file()
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".screen-")
        with os.fdopen(handle, "wb") as out:
            out.write(msgspec.json.encode(kept))
        Path(name).replace(path)
