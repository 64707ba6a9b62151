"""What a program makes happen outside its screen: bells, titles, copies."""

from __future__ import annotations

from collections.abc import Callable

_SECONDS = 0.25
"""Least time between two of them."""


class Outside:
    """Lets effects out: of each kind the last, and not too often, for a program may ask without end."""

    def __init__(self) -> None:
        self._waiting: dict[str, Callable[[], None]] = {}
        self._let_out_at = -_SECONDS

    @property
    def waits(self) -> bool:
        """Whether there is something to let out."""
        return bool(self._waiting)

    def put(self, kind: str, effect: Callable[[], None]) -> None:
        """Have an effect in place of the last of its kind that waits."""
        self._waiting[kind] = effect

    def let_out(self, now: float) -> None:
        """Let out what waits, unless the last time was just now.

        Args:
            now: Seconds by any clock that goes steadily.
        """
        if self._waiting and now - self._let_out_at >= _SECONDS:
            self._let_out_at = now
            waiting, self._waiting = self._waiting, {}
            for effect in waiting.values():
                effect()
