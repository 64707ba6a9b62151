"""What carries bytes between a terminal and the program in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol


class TransportError(Exception):
    """The program could not be started."""


@dataclass(frozen=True)
class Exit:
    """How a program ended."""

    code: int
    """Its exit code; 128+N when signal N ended it."""
    notes: str = ""
    """The end of what the command that carried it had to say, such as that the machine is gone."""


class Transport(Protocol):
    """Carries one program, once. For use on one event loop."""

    async def start(
        self,
        columns: int,
        rows: int,
        receive: Callable[[bytes], None],
        ended: Callable[[Exit], None],
    ) -> None:
        """Start the program on a terminal of that size.

        Args:
            receive: Takes each piece of output. Nothing more is read while it works, which holds the
                program back.
            ended: Called once, after the last output, unless `close` was called before.

        Raises:
            TransportError: it cannot be started, and why.
        """
        ...

    def write(self, data: bytes) -> None:
        """Send input, in pieces that are not dropped on the way. Never waits, never raises."""
        ...

    def resize(self, columns: int, rows: int) -> None:
        """Tell the program the new size."""
        ...

    async def close(self) -> None:
        """Hang up and end the program and all that it left running. Idempotent."""
        ...
