"""Writing a session down: its events as they come, one JSON object a line, just as `--json` prints them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Protocol

import msgspec

from workbench import events as ev
from workbench.wishes import Wish


class RecorderError(Exception):
    """Nothing can be recorded there; the message says why."""


class Source(Protocol):
    """Where events come from, such as an engine."""

    @property
    def died(self) -> int | None: ...
    async def start(self) -> None: ...
    async def restart(self) -> None: ...
    def events(self) -> AsyncIterator[ev.Event]: ...
    async def send(self, wish: Wish) -> None: ...
    async def stop(self) -> None: ...


class Recorder:
    """A file that grows with every event, so that a crash leaves all that was told before."""

    def __init__(self, path: Path) -> None:
        """Begin anew; a recording that is there already is replaced.

        Raises:
            RecorderError: the file cannot be written, or it is something else than a recording.
        """
        self.path = path
        try:
            if _is_something_else(path):
                raise RecorderError(f"{path}: is there already, and is no recording; name another file")
            self._file = path.open("wb", buffering=0)
        except OSError as error:
            raise RecorderError(f"{path}: cannot be written: {error.strerror}") from None

    async def listening(self, events: AsyncIterator[ev.Event]) -> AsyncIterator[ev.Event]:
        """The same events, each written down before it is passed on.

        Where one cannot be written, a notice says so and nothing more is.
        """
        async for event in events:
            try:
                if not self._file.closed:
                    self._file.write(ev.encode(event))
            except OSError as error:
                self._file.close()
                message = f"{self.path}: cannot be written: {error.strerror}; the recording ends here"
                yield ev.Notice(level="warning", message=message)
            yield event


class Recorded:
    """A source of events that is recorded."""

    def __init__(self, source: Source, recorder: Recorder) -> None:
        self._source = source
        self._recorder = recorder
        self.start = source.start
        self.restart = source.restart
        self.send = source.send
        self.stop = source.stop

    @property
    def died(self) -> int | None:
        """See `EventSource`."""
        return self._source.died

    def events(self) -> AsyncIterator[ev.Event]:
        """See `EventSource`."""
        return self._recorder.listening(self._source.events())


def _is_something_else(path: Path) -> bool:
    """Whether there is a file whose first line is no event; pipes and devices hold nothing."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        line = file.readline(1 << 20)
    try:
        ev.decode(line)
    except msgspec.DecodeError:
        return bool(line)
    return False
