"""Plays a recording as if an engine told it: no engine, no machine."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable

from workbench import events as ev
from workbench.recording.recording import Recording
from workbench.wishes import Wish

LINGER = 2.0
"""Seconds that the end is shown before it begins again."""
SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)


class Player:
    """A source of events for the terminal face, with the controls of a player.

    When it goes back in time, `events` ends with `rewound` set. Whoever follows them then forgets all that
    they told, calls `restart` and follows anew.

    Attributes:
        rewound: Whether the stream has ended because what comes next is from before what was told.
        loop: Whether it begins again at the end.
    """

    died: int | None = None

    def __init__(
        self,
        recording: Recording,
        *,
        speed: float = 1.0,
        begin: float = 0.0,
        loop: bool = False,
        ends: bool = False,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """
        Args:
            speed: Recorded seconds a second.
            begin: The position from which it is played, at first and again.
            ends: Whether its stream ends with the recording, rather than wait for the controls.
            now: Tells seconds.
        """
        self.recording = recording
        self.loop = loop
        self.rewound = False
        self._speed = speed
        self._begin = begin
        self._ends = ends
        self._now = now
        self._position = begin
        """At `_since`."""
        self._since = now()
        self._paused = False
        self._stopped = False
        self._changed = asyncio.Event()

    # What a screen shows

    @property
    def duration(self) -> float:
        """Seconds of the whole recording."""
        return self.recording.duration

    @property
    def position(self) -> float:
        """Seconds from the recording's start."""
        played = 0.0 if self._paused else (self._now() - self._since) * self._speed
        return min(self._position + played, self.duration)

    @property
    def paused(self) -> bool:
        """Whether time stands still."""
        return self._paused

    @property
    def speed(self) -> float:
        """Recorded seconds a second."""
        return self._speed

    def clock(self) -> float:
        """Unix seconds, as they were at this position."""
        return self.recording.start + self.position

    # Controls

    def pause(self) -> None:
        """Let time stand still, or go on again."""
        self._hold(self.position)
        self._paused = not self._paused

    def seek(self, seconds: float) -> None:
        """Go to a position; one beyond an end is that end."""
        target = min(max(0.0, seconds), self.duration)
        self.rewound = self.rewound or target < self.position
        self._hold(target)

    def set_speed(self, speed: float) -> None:
        """Set how many recorded seconds a second takes."""
        self._hold(self.position)
        self._speed = speed

    def faster(self, steps: int = 1) -> None:
        """Take the next speed of `SPEEDS`, where there is one; a slower one where `steps` is negative."""
        for _ in range(abs(steps)):
            further = [
                speed for speed in SPEEDS if (speed > self._speed if steps > 0 else speed < self._speed)
            ]
            if further:
                self.set_speed(min(further) if steps > 0 else max(further))

    def _hold(self, position: float) -> None:
        self._position, self._since = position, self._now()
        self._changed.set()

    # The source

    async def start(self) -> None:
        """Begin to play."""
        self._hold(self._begin)

    async def restart(self) -> None:
        """Play on from the position that was sought; from the beginning where none was."""
        if not self.rewound:
            self._hold(self._begin)
        self.rewound = False

    async def events(self) -> AsyncGenerator[ev.Event, None]:
        """What was told until now, then what was told as time goes by."""
        told = 0
        while not self._stopped and not self.rewound:
            self._changed.clear()
            while told < self.recording.count(self.position) and not self.rewound:
                yield self.recording.events[told]
                told += 1
            if self.loop and self.position == self.duration > 0 and not self._paused:
                if not await self._used_within(LINGER):
                    self.seek(self._begin)
            elif self._ends and told == len(self.recording.events):
                return
            else:
                await self._used_within(self._until_due(told))

    async def send(self, wish: Wish) -> None:
        """A recording grants no wishes."""

    async def stop(self) -> None:
        """End the stream."""
        self._stopped = True
        self._changed.set()

    def _until_due(self, told: int) -> float | None:
        """Seconds until the next event is due, or the end comes; None where none will be."""
        if self._paused or self.position >= self.duration:
            return None
        due = self.recording.offset(told) if told < len(self.recording.events) else self.duration
        return max(0.0, due - self.position) / self._speed

    async def _used_within(self, seconds: float | None) -> bool:
        """Wait so long, or for ever, unless the controls are used meanwhile; whether they were."""
        try:
            async with asyncio.timeout(seconds):
                return await self._changed.wait()
        except TimeoutError:
            return False
