"""A recorded session, read from its file."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path, PurePath

import msgspec

from workbench import events as ev


class RecordingError(Exception):
    """A file is no recording; the message names it, the line, the cause and what to do."""


class Recording:
    """What happened in a session, and when.

    Attributes:
        events: In the order in which they came. Those about shells are left out: a face would run the
            command that they name.
        start: Unix seconds of the first.
        duration: Seconds from the first to the last.
        tasks: The tasks that were opened, by their directories.
    """

    def __init__(self, events: Sequence[ev.Event]) -> None:
        """
        Args:
            events: At least one.
        """
        shells = (ev.ShellReady, ev.ShellFailed, ev.ShellLost)
        self.events = tuple(event for event in events if not isinstance(event, shells))
        self.start = events[0].at
        # A clock that was set back must not stop what comes after.
        self._offsets = list(accumulate((event.at - self.start for event in self.events), max))
        self.duration = self._offsets[-1]
        opened = (event.task for event in self.events if isinstance(event, ev.TaskOpened))
        unreadable = (event.task for event in self.events if isinstance(event, ev.TaskUnreadable))
        self.tasks = tuple(dict.fromkeys((*opened, *unreadable)))

    def task(self, name: str = "") -> str:
        """The directory of the task that is named so, the first where no name is given.

        Raises:
            RecordingError: there is no such task.
        """
        found = [task for task in self.tasks if name in ("", task, PurePath(task).name)]
        if not found and not self.tasks:
            raise RecordingError("no task was opened in this recording, so there is nothing to show")
        if not found:
            names = ", ".join(PurePath(task).name for task in self.tasks)
            raise RecordingError(f"there is no task {name!r} in this recording; there are: {names}")
        return found[0]

    def others(self, task: str) -> list[str]:
        """The directories of the tasks besides this one."""
        return [other for other in self.tasks if other != task]

    def beginning(self, task: str) -> float:
        """Seconds from the first event until a task was opened; 0 for the task that was the first."""
        if task in self.tasks[:1]:
            return 0.0
        opening = (ev.TaskOpened, ev.TaskUnreadable)
        numbered = ((at, event) for at, event in enumerate(self.events) if isinstance(event, opening))
        return next((self.offset(at) for at, event in numbered if event.task == task), 0.0)

    def begins_with(self, task: str) -> ev.RunQueued | ev.RunRecalled | None:
        """The run that a task's session begins with."""
        runs = (event for event in self.events if isinstance(event, ev.RunQueued | ev.RunRecalled))
        return next((run for run in runs if run.task == task), None)

    def count(self, seconds: float) -> int:
        """How many events had come so many seconds after the first."""
        return bisect_right(self._offsets, seconds)

    def offset(self, number: int) -> float:
        """Seconds from the first event to the event numbered `number`, from 0."""
        return self._offsets[number]


def read_recording(path: Path) -> Recording:
    """Read the recording in a file, as `--record` writes it and `--json` prints it.

    A last line that was cut short, as by a crash, is left out.

    Raises:
        RecordingError: the file cannot be read, or is no recording.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise RecordingError(f"{path}: cannot be read: {error.strerror}") from None
    events: list[ev.Event] = []
    for number, line in enumerate(lines, 1):
        try:
            if line:
                events.append(ev.decode(line))
        except msgspec.DecodeError as error:
            if number < len(lines) or not events:
                raise _no_event(path, number, events, error) from None
    if not events:
        raise RecordingError(f"{path}: is empty; make a recording with `workbench TASK_DIR --record FILE`")
    return Recording(events)


def _no_event(path: Path, line: int, before: list[ev.Event], error: Exception) -> RecordingError:
    first = before[0] if before else None
    if isinstance(first, ev.EngineStarted) and first.protocol > ev.PROTOCOL:
        return RecordingError(
            f"{path}:{line}: is of workbench {first.version}, newer than this one; update it to play this"
        )
    return RecordingError(f"{path}:{line}: is no event of a recording ({error}); was the file edited?")
