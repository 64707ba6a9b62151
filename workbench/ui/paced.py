"""A terminal at the end of a slow line: pictures that it has no time for are left out, never queued.

Textual queues everything that it draws, so that on a slow line a key, or leaving, would wait for every
picture before it.
"""

from __future__ import annotations

import termios
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import IO, Any, cast

from rich.console import RenderableType
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.drivers.linux_driver import LinuxDriver
from textual.geometry import Region

_GRACE = 0.1
"""Seconds that a terminal may take for a picture before it counts as slow."""
LOOK_AGAIN = 0.05
"""Seconds between looks at whether it has caught up."""


class PacedDriver(LinuxDriver):
    """Knows whether the terminal has taken what was written."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._told = 0
        self._since = 0.0
        self._taken = _Taken(cast(IO[str], self._file))
        self._file = cast(Any, self._taken)

    @property
    def is_behind(self) -> bool:
        """Whether something that was written a while ago has not been taken yet."""
        return self._taken.characters != self._told and time.monotonic() - self._since > _GRACE

    def write(self, data: str) -> None:
        """Write, and count."""
        if self._taken.characters == self._told:
            self._since = time.monotonic()
        self._told += len(data)
        super().write(data)

    def _sigcont_application(self, *arguments: Any) -> None:
        """Take the terminal again, where it was given back; a line that is hung up sends this signal too."""
        if self._must_signal_resume:
            super()._sigcont_application(*arguments)

    def stop_application_mode(self) -> None:
        """Give the terminal back, without the pictures that are still on their way to it."""
        if self.is_behind:
            self._taken.left_out = self._told
            with suppress(termios.error, OSError):
                termios.tcflush(self._taken.fileno(), termios.TCOFLUSH)
        super().stop_application_mode()


class _Taken:
    """A file that counts what got through. What is written to a terminal that is gone is let go: whoever
    writes must come to its end, or the queue before it stays full, and leaving waits for that.

    Attributes:
        characters: How many.
        left_out: Up to which of them nothing is written any more.
    """

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self._written = 0
        self.characters = 0
        self.left_out = 0

    def write(self, text: str) -> int:
        before = self._written
        self._written += len(text)
        if before >= self.left_out:
            with suppress(OSError):
                self._file.write(text)
        return len(text)

    def flush(self) -> None:
        written = self._written
        with suppress(OSError):
            self._file.flush()
        self.characters = written

    def fileno(self) -> int:
        return self._file.fileno()


def regions(update: RenderableType | None) -> Iterator[Region]:
    """The parts of the screen that an update would draw."""
    if isinstance(update, LayoutUpdate):
        yield update.region
    elif isinstance(update, ChopsUpdate):
        yield from (Region(left, y, right - left, 1) for y, left, right in update.spans)
