"""How the screen holds up: keys answered while output floods in, and large things opened.

python tests/bench/ui.py
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import psutil
from textual.pilot import Pilot

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.bench.screen import Screen
from tests.ui.streams import TASK, RecordedSource, Stream, passed
from workbench import events as ev
from workbench.cases.case import Case
from workbench.ui import own_process, remembered
from workbench.ui.app import WorkbenchApp
from workbench.ui.lines import LiveLines
from workbench.ui.tabs.trajectory import Steps
from workbench.ui.widgets.log_view import LogView

KEY_LIMIT = 0.05
"""Seconds, at the 99th percentile."""
RATE_LIMIT = 100_000
"""Lines a second that the log view takes in."""
OPEN_LIMIT = 0.5
"""Seconds to the first paint of a million lines, or of ten thousand steps."""
_LOOK = 0.002
"""Seconds between looks at whether something is drawn."""
FLOOD = 100_000
"""Lines a second that the verifier prints."""
TRIALS = 16
SECONDS = 6.0
_AT_ONCE = 200
ROUNDS = 5


class Flood(RecordedSource):
    """Sixteen trials that run, one of whose verifiers prints without end."""

    def __init__(self) -> None:
        cases = tuple(Case(f"case-{number:02}", "negative", "fail") for number in range(TRIALS))
        stream = Stream(now=time.time()).engine().task(cases)
        for case in cases:
            stream.queue(case.name).start(case.name).phase(f"{case.name}-1", "environment")
            stream.phase(f"{case.name}-1", "agent").phase(f"{case.name}-1", "verifier")
        super().__init__(stream.events)
        self.lines = 0

    async def events(self) -> AsyncIterator[ev.Event]:
        for event in self._recorded:
            yield event
        text = "".join(
            f"\x1b[32mline {n}\x1b[0m of what a verifier prints {'x' * 40}\n" for n in range(_AT_ONCE)
        )
        # As they come through the pipe: encoded, and decoded on the screen's own loop.
        lines = [
            ev.encode(
                ev.Output(run=f"case-{number:02}-1", source="verifier", text=text if number == 0 else ".\n")
            )
            for number in range(TRIALS)
        ]
        began = time.perf_counter()
        turn = 0
        while True:
            due = (time.perf_counter() - began) * FLOOD
            while self.lines < due:
                yield ev.decode(lines[0])
                yield ev.decode(lines[1 + turn % (TRIALS - 1)])
                self.lines += _AT_ONCE
                turn += 1
            await asyncio.sleep(0.002)


async def until(pilot: Pilot[None], condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0)
        await pilot.pause(0)


def flood() -> None:
    """Run the app on a flood until it is hung up on, and leave the lines taken in behind."""
    source = Flood()
    app = WorkbenchApp(source, Path(TASK), theme="night")
    app.owns_process = True
    with own_process.answering():
        app.run()
    Path(os.environ["FLOODED"]).write_text(str(app.session.runs["case-00-1"].output_seen * _AT_ONCE))


def keys_under_flood(scratch: Path) -> tuple[list[float], float, int]:
    """Seconds from a key to its effect in the terminal, lines a second taken in, and bytes of memory."""
    os.environ["FLOODED"] = str(scratch / "flooded")
    os.environ["XDG_STATE_HOME"] = str(scratch)  # nothing is remembered of another time
    with Screen([sys.executable, __file__, "--flood"]) as screen:
        screen.wait_for(b"case-00")
        screen.read_for(1.0)
        began, taken, shown = time.perf_counter(), [], 0
        while time.perf_counter() - began < SECONDS:
            # Between the flooding case and the one below it, so that its output is drawn, too.
            shown = 1 - shown
            taken.append(screen.press(b"jk"[1 - shown : 2 - shown], f"Run · case-{shown:02}".encode()))
            screen.read_for(0.05)
        seconds = time.perf_counter() - began
        memory = psutil.Process(screen.pid).memory_info().rss
        screen.press(b"q", b"\x1b[?1049l")
        screen.end()
    return taken, int((scratch / "flooded").read_text()) / (seconds + 1), memory


async def taking_in() -> float:
    """Lines a second that a log view takes in and draws."""
    source = RecordedSource(Stream().engine().task().queue("oracle").start("oracle").events)
    app = WorkbenchApp(source, Path(TASK), theme="night")
    async with app.run_test(size=(160, 50)) as pilot:
        await until(pilot, lambda: app.up_to_date and source.all_taken)
        view = app.screen.query_one(LogView)
        lines = LiveLines()
        view.display = True
        view.follow = True
        view.show(lines)
        text = "".join(f"line {n} of what a verifier prints {'x' * 40}\n" for n in range(1000))
        start = time.perf_counter()
        for _ in range(300):
            lines.append(text)
            view.grown()
            await asyncio.sleep(0)
        await pilot.pause(0)
        return 300_000 / (time.perf_counter() - start)


async def opening(trial: Path, tab: str, drawn: Callable[[WorkbenchApp], bool]) -> tuple[float, int]:
    """Seconds from showing a tab of a run that ended to its first paint, and bytes of memory it took."""
    stream = Stream().engine().task()
    stream.add(
        ev.RunRecalled(
            task=TASK, case="oracle", run="r", outcome=passed(), ran_at=stream.now, trial_dir=str(trial)
        )
    )
    source = RecordedSource(stream.events)
    # The tab of the last time is another one, so that nothing of this one has been read.
    remembered.keep(TASK, "night", remembered.TaskLook(tab="timing"))
    app = WorkbenchApp(source, Path(TASK), theme="night", clock=lambda: stream.now)
    async with app.run_test(size=(160, 50)) as pilot:
        await until(pilot, lambda: app.up_to_date and source.all_taken)
        from workbench.ui.panes.run_pane import RunPane

        pane = app.screen.query_one(RunPane)
        await pilot.pause()
        assert pane.tab == "timing"
        assert not drawn(app)
        gc.collect()
        before = psutil.Process().memory_info().rss
        start = time.perf_counter()
        pane.show_tab(tab)
        while not drawn(app):
            # Not without a rest, which the thread that reads would have to wait for.
            await asyncio.sleep(_LOOK)
        painted = asyncio.Event()
        app.screen.call_after_refresh(painted.set)
        await painted.wait()
        took = time.perf_counter() - start
        return took, psutil.Process().memory_info().rss - before


def big_log(trial: Path) -> None:
    (trial / "verifier").mkdir(parents=True)
    with (trial / "verifier" / "test-stdout.txt").open("w") as file:
        file.writelines(f"line {n} of what a verifier prints {'x' * (n % 60)}\n" for n in range(1_000_000))


def long_trajectory(trial: Path) -> None:
    (trial / "agent").mkdir(parents=True)
    steps = [
        {
            "step_id": n,
            "source": "agent",
            "message": f"step {n}",
            "tool_calls": [
                {"tool_call_id": f"c{n}", "function_name": "bash", "arguments": {"command": f"ls {n}"}}
            ],
            "observation": {"results": [{"source_call_id": f"c{n}", "content": "out\n" * 20}]},
        }
        for n in range(1, 10_001)
    ]
    document = {"schema_version": "ATIF-v1.8", "agent": {"name": "a", "version": "1"}, "steps": steps}
    (trial / "agent" / "trajectory.json").write_text(json.dumps(document))


def _log_drawn(app: WorkbenchApp) -> bool:
    return any(len(view.lines) > 100 for view in app.screen.query(LogView))


def _steps_drawn(app: WorkbenchApp) -> bool:
    return any(len(view) == 10_000 for view in app.screen.query(Steps))


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:,.1f} ms"


def _mib(size: float) -> str:
    return f"{size / 2**20:,.0f} MiB"


def main() -> int:
    """Print the table and the verdicts."""
    with tempfile.TemporaryDirectory() as scratch:
        os.environ |= {"XDG_STATE_HOME": scratch, "XDG_CONFIG_HOME": scratch, "TEXTUAL_ANIMATIONS": "none"}
        big_log(log := Path(scratch) / "log")
        long_trajectory(steps := Path(scratch) / "steps")
        floods = [keys_under_flood(Path(tempfile.mkdtemp(dir=scratch))) for _ in range(ROUNDS)]
        rates = [asyncio.run(taking_in()) for _ in range(ROUNDS)]
        logs = [asyncio.run(opening(log, "verifier", _log_drawn)) for _ in range(ROUNDS)]
        trajectories = [asyncio.run(opening(steps, "trajectory", _steps_drawn)) for _ in range(ROUNDS)]
    key = statistics.median(statistics.quantiles(taken, n=100)[98] for taken, _, _ in floods)
    rate = statistics.median(rates)
    opened = [statistics.median(took for took, _ in found) for found in (logs, trajectories)]
    table = [
        ("keys pressed during the flood", f"{sum(len(taken) for taken, _, _ in floods):,}", ""),
        ("  answered, median", _ms(statistics.median(floods[0][0])), ""),
        ("  answered, 99th percentile", _ms(key), f"<= {_ms(KEY_LIMIT)}"),
        ("  lines taken in meanwhile, a second", f"{statistics.median(f[1] for f in floods):,.0f}", ""),
        ("  memory at the end", _mib(floods[-1][2]), ""),
        ("lines a second that the log view takes in", f"{rate:,.0f}", f">= {RATE_LIMIT:,}"),
        ("1,000,000 lines, first paint", _ms(opened[0]), f"<= {_ms(OPEN_LIMIT)}"),
        ("  memory", _mib(max(memory for _, memory in logs)), ""),
        ("10,000 steps, first paint", _ms(opened[1]), f"<= {_ms(OPEN_LIMIT)}"),
        ("  memory", _mib(max(memory for _, memory in trajectories)), ""),
    ]
    for what, value, limit in table:
        print(f"{what:<44}{value:>12}   {f'(required: {limit})' if limit else ''}".rstrip())
    good = key <= KEY_LIMIT and rate >= RATE_LIMIT and max(opened) <= OPEN_LIMIT
    worst = max(key / KEY_LIMIT, RATE_LIMIT / rate, max(opened) / OPEN_LIMIT)
    print(f"bench ui: {worst:.2f} (required: <= 1)")
    return 0 if good else 1


if __name__ == "__main__":
    if "--flood" in sys.argv:
        flood()
    else:
        sys.exit(main())
