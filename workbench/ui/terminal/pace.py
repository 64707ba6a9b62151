"""When a terminal's picture is taken: not too often, not in the middle of a frame, rarely in a flood."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

_FRAME = 1 / 30
"""Least seconds between two pictures."""
_FLOOD = 512 * 1024
"""Bytes since the last picture from which on nobody can read along."""
_FLOOD_FRAME = 0.1
"""Least seconds between two pictures of a flood."""
_HELD_SECONDS = 0.15
"""How long a program may hold its picture back (mode 2026) before it is shown as it is."""


class Pace:
    """Calls for pictures."""

    def __init__(self, draw: Callable[[float], bool]) -> None:
        """
        Args:
            draw: Draws, at a moment by the loop's clock, and says whether there is more to draw.
        """
        self._draw = draw
        self._due: asyncio.TimerHandle | None = None
        self._drawn_at = self._painted_at = self._held_since = 0.0
        self._unseen = 0

    @property
    def is_due(self) -> bool:
        """Whether something is still to be drawn."""
        return self._due is not None

    def came(self, size: int) -> None:
        """So many bytes came in."""
        self._unseen += size
        self.soon()

    def soon(self) -> None:
        """Draw at the next frame."""
        if self._due is None:
            loop = asyncio.get_running_loop()
            self._due = loop.call_later(max(0.0, self._drawn_at + _FRAME - loop.time()), self._now)

    def stop(self) -> None:
        """Draw no more."""
        if self._due:
            self._due.cancel()
        self._due = None

    def _now(self) -> None:
        self._due = None
        self._drawn_at = asyncio.get_running_loop().time()
        if self._draw(self._drawn_at):
            self.soon()

    def waits(self, now: float, *, held: bool) -> bool:
        """Whether a picture is better taken later.

        Args:
            held: Whether the program holds it back.
        """
        if not held:
            self._held_since = now
        floods = self._unseen > _FLOOD and now - self._painted_at < _FLOOD_FRAME
        return (held and now - self._held_since < _HELD_SECONDS) or floods

    def painted(self, now: float) -> None:
        """A picture was taken."""
        self._painted_at, self._unseen = now, 0
