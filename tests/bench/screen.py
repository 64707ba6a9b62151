"""A program in a pseudo-terminal, timed by what it writes there."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

PATIENCE = 60.0
"""Seconds after which nothing is waited for any more."""


class Screen:
    """A program that runs in a terminal of its own."""

    def __init__(self, command: Sequence[str], size: tuple[int, int] = (160, 50)) -> None:
        self.pid, self._terminal = pty.fork()
        if self.pid == 0:
            os.environ |= {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
            os.execv(command[0], list(command))
        columns, lines = size
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def wait_for(self, text: bytes) -> float:
        """Read until a text is written; the moment of it by `time.perf_counter`."""
        seen = b""
        until = time.perf_counter() + PATIENCE
        while text not in seen:
            ready, _, _ = select.select([self._terminal], [], [], max(0.0, until - time.perf_counter()))
            if not ready:
                raise TimeoutError(f"{text!r} never came; the last of the screen: {seen[-500:]!r}")
            seen = seen[-len(text) :] + self._read()
        return time.perf_counter()

    def press(self, key: bytes, text: bytes) -> float:
        """Seconds from a key to a text."""
        start = time.perf_counter()
        os.write(self._terminal, key)
        return self.wait_for(text) - start

    def read_for(self, seconds: float) -> None:
        """Read on for a while."""
        until = time.perf_counter() + seconds
        while (left := until - time.perf_counter()) > 0:
            if select.select([self._terminal], [], [], left)[0]:
                self._read()

    def end(self) -> None:
        """Hang up, and read on until the program has ended: one that writes to a full pipe never would."""
        if self.pid == 0:
            return
        os.kill(self.pid, signal.SIGHUP)
        until = time.monotonic() + PATIENCE
        while os.waitpid(self.pid, os.WNOHANG) == (0, 0):
            if time.monotonic() > until:
                os.kill(self.pid, signal.SIGKILL)
            if select.select([self._terminal], [], [], 0.05)[0] and not self._read():
                time.sleep(0.05)
        os.close(self._terminal)
        self.pid = 0

    def _read(self) -> bytes:
        try:
            return os.read(self._terminal, 65536)
        except OSError:
            return b""
