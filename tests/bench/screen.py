"""A program in a pseudo-terminal, timed by what it writes there."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

_PIECE = 65536
"""Bytes to read in one go."""
PATIENCE = 60.0
"""Seconds after which nothing is waited for any more."""


class Screen:
    """A program that runs in a terminal of its own; use as a context manager.

    Attributes:
        terminal: The end of it that a person sits at.
    """

    def __init__(self, command: Sequence[str], size: tuple[int, int] = (160, 50)) -> None:
        self.terminal, inside = pty.openpty()
        columns, lines = size
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self._process = subprocess.Popen(
            command,
            stdin=inside,
            stdout=inside,
            stderr=inside,
            start_new_session=True,
            env=_environment(),
        )
        os.close(inside)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()
        os.close(self.terminal)

    @property
    def pid(self) -> int:
        """The program's process."""
        return self._process.pid

    def modes(self) -> list[object]:
        """How the terminal is set."""
        return list(termios.tcgetattr(self.terminal))

    def wait_for(self, text: bytes) -> float:
        """Read until a text is written; the moment of it by `time.perf_counter`."""
        seen = b""
        until = time.perf_counter() + PATIENCE
        while text not in seen:
            ready, _, _ = select.select([self.terminal], [], [], max(0.0, until - time.perf_counter()))
            if not ready:
                raise TimeoutError(f"{text!r} never came; the last of the screen: {seen[-500:]!r}")
            seen = seen[-len(text) :] + self._read()
        return time.perf_counter()

    def slowly(self, text: bytes, baud: float | None, quiet: float = 0.5) -> bytes:
        """Read at so many bits a second, ten a byte, until a text is written; what was read.

        Args:
            text: With an empty one, until nothing has come for `quiet` seconds.
            baud: As fast as it goes when None.
        """
        seen = b""
        until = time.perf_counter() + PATIENCE * 20
        while not text or text not in seen:
            patience = quiet if not text else until - time.perf_counter()
            if not select.select([self.terminal], [], [], max(0.0, patience))[0]:
                if text:
                    raise TimeoutError(f"{text!r} never came; the last of the screen: {seen[-500:]!r}")
                break
            piece = self._read(16 if baud else _PIECE)
            seen += piece
            if baud:
                time.sleep(len(piece) * 10 / baud)
        return seen

    def press(self, key: bytes, text: bytes) -> float:
        """Seconds from a key to a text."""
        start = time.perf_counter()
        os.write(self.terminal, key)
        return self.wait_for(text) - start

    def read_for(self, seconds: float) -> None:
        """Read on for a while."""
        until = time.perf_counter() + seconds
        while (left := until - time.perf_counter()) > 0:
            if select.select([self.terminal], [], [], left)[0]:
                self._read()

    def wait(self) -> int:
        """Read on until the program has ended, and say how (negative: by that signal).

        A program that writes to a terminal nobody reads would never end.
        """
        until = time.monotonic() + PATIENCE
        while self._process.poll() is None:
            if time.monotonic() > until:
                self._process.kill()
            if select.select([self.terminal], [], [], 0.05)[0] and not self._read():
                time.sleep(0.05)
        return self._process.returncode

    def ended(self, within: float) -> int:
        """How the program ended though nothing of what it writes is read.

        Args:
            within: Seconds.

        Raises:
            subprocess.TimeoutExpired: it did not.
        """
        return self._process.wait(within)

    def end(self) -> None:
        """Hang up, and wait for the program's end."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGHUP)
            self.wait()

    def _read(self, at_once: int = _PIECE) -> bytes:
        try:
            return os.read(self.terminal, at_once)
        except OSError:
            return b""


def _environment() -> dict[str, str]:
    """A terminal's, whose size the terminal tells alone."""
    own = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    return own | {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
