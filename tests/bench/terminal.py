"""What the terminal widget costs beside feeding the bare emulator, on the same bytes.

Each kind of output is fed to an emulator alone, and then taken by the widget from a transport that has
it all at hand, in an app of 120 by 40 that paints every frame for a terminal of 24-bit colour, which
then throws it away; in rounds, in alternation, in slices of 64 KiB. The last row has a real pty between:
a reader that feeds the bare emulator, against the whole widget. Beside the times stand the longest stall
of the app's event loop, and its longest turn: what its own thread worked without a break, whatever else
kept the machine busy.

    uv run python tests/bench/terminal.py [MEGABYTES]
"""

from __future__ import annotations

import asyncio
import gc
import os
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

os.environ["TEXTUAL_COLOR_SYSTEM"] = "truecolor"

from rich.console import Console
from rich.table import Table
from textual.app import App

from workbench.machines.machine import HostCommand
from workbench.ui.terminal.emulator import Effects
from workbench.ui.terminal.load import load_emulator
from workbench.ui.terminal.pty import HostPty
from workbench.ui.terminal.terminal import Terminal
from workbench.ui.terminal.transport import Exit

LIMIT = 2.0
ROUNDS = 5
MEGABYTES = 48
COLUMNS, ROWS = 120, 40
SLICE = 65_536
YES = HostCommand(("bash", "-c", "yes 'all work and no play' | head -1000000"), dict(os.environ))


def logs(i: int) -> str:
    return f"2026-01-01T00:00:{i % 60:02} INFO  step.{i % 17} #{i} [2/7] RUN pip install: {i % 900} ms\r\n"


def colors(i: int) -> str:
    return f"\x1b[3{i % 8}m{i:6}\x1b[0m \x1b[1mtest_{i}\x1b[0m \x1b[38;2;{i % 256};128;0mPASSED\x1b[0m\r\n"


def wide(i: int) -> str:
    return f"{i} 日本語のログ出力です 한국어 😀 naïve café\r\n"


def screens(i: int) -> str:
    """Full-screen programs: every line of the screen anew, as htop draws it."""
    lines = (
        f"\x1b[{y + 1};1H\x1b[7m{i:5}\x1b[0m \x1b[32m{'|' * (i * y % 40):<40}\x1b[0m proc{y}\x1b[K"
        for y in range(ROWS)
    )
    return "".join(lines)


KINDS: dict[str, Callable[[int], str]] = {
    "log lines": logs,
    "coloured test output": colors,
    "wide characters": wide,
    "full-screen repaints": screens,
}


class Stall(NamedTuple):
    """Seconds for which the loop did nothing else."""

    wall: float
    cpu: float
    """Of the loop's own thread: what is left where other processes take the machine's time."""


@dataclass
class Row:
    name: str
    megabytes: float
    bare: list[float] = field(default_factory=list)
    widget: list[float] = field(default_factory=list)
    stalls: list[Stall] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        return statistics.median(mine / its for mine, its in zip(self.widget, self.bare, strict=True))


class AtHand:
    """A transport whose output is all there at once."""

    started = 0.0

    def __init__(self, slices: list[bytes]) -> None:
        self._slices = slices
        self._task: asyncio.Task[None] | None = None

    async def start(
        self, columns: int, rows: int, receive: Callable[[bytes], None], ended: Callable[[Exit], None]
    ) -> None:
        async def deliver() -> None:
            for piece in self._slices:
                receive(piece)
                await asyncio.sleep(0)
            ended(Exit(0))

        self.started = time.perf_counter()
        self._task = asyncio.create_task(deliver())

    def write(self, data: bytes) -> None:
        pass

    def resize(self, columns: int, rows: int) -> None:
        pass

    async def close(self) -> None:
        pass


class Pty(HostPty):
    """A real one that knows when it was started."""

    started = 0.0

    async def start(
        self, columns: int, rows: int, receive: Callable[[bytes], None], ended: Callable[[Exit], None]
    ) -> None:
        self.started = time.perf_counter()
        await super().start(columns, rows, receive, ended)


class BenchApp(App[None]):
    """Paints as for a real terminal, though there is none."""

    def __init__(self) -> None:
        super().__init__()
        self.ended = asyncio.Event()

    @property
    def is_headless(self) -> bool:
        return False

    def on_terminal_exited(self) -> None:
        self.ended.set()


async def in_widget(transport: AtHand | Pty) -> tuple[float, Stall]:
    """Seconds until all is taken and painted, and the longest stall of the loop meanwhile."""
    app = BenchApp()
    async with app.run_test(size=(COLUMNS, ROWS)) as pilot:
        await pilot.pause()
        terminal = Terminal(transport)
        await app.mount(terminal)
        stall = asyncio.create_task(longest_stall(transport, app.ended))
        await app.ended.wait()
        while not terminal.up_to_date:
            await asyncio.sleep(0.001)
        painted = asyncio.Event()
        app.call_after_refresh(painted.set)
        await painted.wait()
        return time.perf_counter() - transport.started, await stall


async def longest_stall(transport: AtHand | Pty, until: asyncio.Event) -> Stall:
    """How late the loop was at most while the transport worked."""
    longest = Stall(0.0, 0.0)
    while not until.is_set():
        before, own = time.perf_counter(), time.thread_time()
        await asyncio.sleep(0.001)
        if 0 < transport.started < before:
            stall = Stall(time.perf_counter() - before - 0.001, time.thread_time() - own)
            longest = Stall(*map(max, longest, stall))
    return longest


async def bare(transport: AtHand | Pty) -> float:
    """Seconds in which an emulator alone takes it all."""

    def nothing(*_: object) -> None:
        pass

    emulator = load_emulator()(COLUMNS, ROWS, Effects(nothing, nothing, nothing, nothing))
    ended = asyncio.Event()
    await transport.start(COLUMNS, ROWS, emulator.feed, lambda _: ended.set())
    await ended.wait()
    taken = time.perf_counter() - transport.started
    await transport.close()
    emulator.close()
    return taken


async def compare(row: Row, transport: Callable[[], AtHand | Pty]) -> Row:
    for round_ in range(ROUNDS + 1):
        gc.collect()  # so that no round pays for what was there before it
        gc.freeze()
        alone = await bare(transport())
        whole, stall = await in_widget(transport())
        if round_:  # the first warms up
            row.bare.append(alone)
            row.widget.append(whole)
            row.stalls.append(stall)
    return row


async def main(megabytes: int) -> bool:
    rows = []
    for name, kind in KINDS.items():
        block = "".join(map(kind, range(2000))).encode()
        data = block * max(1, megabytes * 1_000_000 // len(block))
        slices = [data[at : at + SLICE] for at in range(0, len(data), SLICE)]
        rows.append(await compare(Row(name, len(data) / 1e6), partial(AtHand, slices)))
    rows.append(await compare(Row("yes, by a pty", 25.0), partial(Pty, YES)))
    report(rows)
    worst = max(row.ratio for row in rows)
    print(f"bench terminal: {worst:.2f} (required: <= {LIMIT:g})")
    return worst <= LIMIT


def report(rows: list[Row]) -> None:
    table = Table("output", "MB", "emulator", "widget", "ratio", "longest stall", "longest turn", box=None)
    for row in rows:
        table.add_row(
            row.name,
            f"{row.megabytes:.0f}",
            f"{statistics.median(row.bare):.3f} s",
            f"{statistics.median(row.widget):.3f} s",
            f"{row.ratio:.2f}",
            f"{max(stall.wall for stall in row.stalls) * 1000:.0f} ms",
            f"{max(stall.cpu for stall in row.stalls) * 1000:.0f} ms",
        )
    Console().print(table)
    print(
        f"medians of {ROUNDS} rounds in alternation, after one to warm up; stalls: the longest of all rounds"
    )


if __name__ == "__main__":
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else MEGABYTES
    sys.exit(0 if asyncio.run(main(wanted)) else 1)
