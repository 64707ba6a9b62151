"""Where the terminal face gets its life from: an engine, a recording or a test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

from workbench.events import Event
from workbench.wishes import Wish


class EventSource(Protocol):
    """A stream of events with a way to ask for things."""

    @property
    def died(self) -> int | None:
        """How the engine's process ended (negative: by that signal), None while it lives."""
        ...

    async def start(self) -> None:
        """Begin.

        Raises:
            OSError: the engine could not be started.
        """
        ...

    async def restart(self) -> None:
        """Begin again after the end; `events` may then be called anew."""
        ...

    def events(self) -> AsyncIterator[Event]:
        """What happens, until the engine ends."""
        ...

    async def send(self, wish: Wish) -> None:
        """Ask for something. A wish to an engine that has ended is let go."""
        ...

    async def stop(self) -> None:
        """End the engine and wait for its end, within a deadline of the source's own."""
        ...
