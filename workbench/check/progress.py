"""What happens meanwhile, on standard error: live on a terminal, else a line a run."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live
from rich.text import Text

from workbench import events as ev
from workbench.console import plain
from workbench.session import Run, Session

_REFRESH_SECONDS = 0.2


class Progress:
    """Tells how far a check has come.

    Args:
        console: On the standard error stream.
        session: What the events so far say.
        live: Draw lines that come and go; only for a terminal that can.
    """

    def __init__(self, console: Console, session: Session, *, live: bool) -> None:
        self._console = console
        self._session = session
        self._live = (
            Live(
                console=console,
                transient=True,
                auto_refresh=False,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            if live
            else None
        )

    @contextmanager
    def running(self) -> Iterator[None]:
        """Draw while the check runs."""
        if self._live is None:
            yield
            return
        ticking = asyncio.create_task(self._tick(self._live))
        try:
            with self._live:
                yield
        finally:
            ticking.cancel()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Make room for something else to be printed."""
        if self._live:
            self._live.update(Text(""), refresh=True)
            self._live.stop()
        yield
        if self._live:
            self._live.start()

    def heard(self, event: ev.Event) -> None:
        """Tell of an event that the session has taken in."""
        if self._live is None and isinstance(event, ev.RunEnded):
            outcome = event.outcome
            name = plain(f"{self._session.task(event.task).name}: {event.case}")
            self._console.print(
                Text(f"{name} {outcome.kind} in {outcome.seconds:.1f} s: {plain(outcome.reason)}")
            )

    async def _tick(self, live: Live) -> None:
        while True:
            if live.is_started:
                live.update(self._lines(), refresh=True)
            await asyncio.sleep(_REFRESH_SECONDS)

    def _lines(self) -> Text:
        runs = [run for run in self._session.runs.values() if run.state == "running"]
        ended = sum(run.state == "ended" for run in self._session.runs.values())
        waiting = sum(run.state == "queued" for run in self._session.runs.values())
        lines = [self._line(run) for run in runs]
        return Text("\n").join(
            [*lines, Text(f"{ended} done, {len(runs)} running, {waiting} waiting", style="dim")]
        )

    def _line(self, run: Run) -> Text:
        elapsed = time.time() - (run.started_at or time.time())
        phase = run.phase.name if run.phase else "starting"
        name = plain(f"{self._session.task(run.task).name}: {run.case}")
        return Text.assemble((name, "bold"), f"  {phase}  {elapsed:.0f} s", no_wrap=True, overflow="ellipsis")
