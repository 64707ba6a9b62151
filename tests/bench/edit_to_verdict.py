"""From a save to its verdict, beside `harbor run` of the same cases on the same environment class.

An engine watches a copy of the sample. Each round saves `tests/test.sh` by rename, as editors do, and
waits for the verdict of every case; then `harbor run` runs each case. The same for `solution/solve.sh`
and its one case. `test.sh` prints when it began and ended, so that its own time can be told apart.

    uv run python -m tests.bench.edit_to_verdict [SAVES]
    uv run python -m tests.bench.edit_to_verdict --many 50

With `--many`, the sample has that many wrong solutions: the time to the last verdict beside that of the
sample as it is, the engine's memory, and how long a key takes in the terminal meanwhile.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import shutil
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psutil
from rich.console import Console
from rich.table import Table

from tests.bench.overhead import TASK, agent, cases, harbor_run, timed
from tests.bench.screen import Screen
from workbench import events as ev
from workbench.link import EngineLink, EngineOptions
from workbench.session import Session
from workbench.wishes import OpenTask

SAVES = 20
HARBOR_ROUNDS = 5
FASTER, SOLVE_FASTER, ABOVE = 15.0, 5.0, 0.12
GROWTH, MEMORY_MIB, KEY_MS = 1.0, 300, 50
_OWN = re.compile(r"bench began ([\d.]+)(?:.|\n)*bench ended ([\d.]+)")


@dataclass
class Save:
    """What one save led to, in seconds."""

    first: float
    """Until the first verdict."""
    last: float
    """Until the last."""
    above: float
    """Until the first, without what `test.sh` itself took for it."""


class Author:
    """Saves files of a task that an engine watches, and waits for what comes of it."""

    def __init__(self, link: EngineLink, task: Path) -> None:
        self.task = task
        self._link = link
        self._session = Session()
        self._events = link.events()
        self._number = 0

    async def open(self) -> None:
        """Open the task, and wait until all its states are kept."""
        await self._link.send(OpenTask(task=str(self.task)))
        await self._until_settled()

    async def save(self, path: str) -> Save:
        """Save a file with another comment in it."""
        self._number += 1
        start = rewrite(self.task / path, str(self._number))
        ended: list[ev.RunEnded] = []
        async for event in self._events:
            self._session.apply(event)
            if isinstance(event, ev.RunEnded):
                ended.append(event)
            if isinstance(event, ev.Settled) and ended:
                break
        assert all(event.outcome.met for event in ended), ended
        own = self._own_time(ended[0].run)
        return Save(ended[0].at - start, ended[-1].at - start, ended[0].at - start - own)

    def _own_time(self, run: str) -> float:
        found = _OWN.search(self._session.runs[run].text("verifier"))
        return float(found[2]) - float(found[1]) if found else 0.0

    async def _until_settled(self) -> None:
        async for event in self._events:
            self._session.apply(event)
            if isinstance(event, ev.Settled):
                return


def rewrite(file: Path, what: str) -> float:
    """Save a file by rename, with another comment in it; the moment of it in Unix seconds."""
    text = re.sub(r"(?m)^# save .*\n", "", file.read_text())
    beside = file.with_name(f".{file.name}.new")
    beside.write_text(text.replace("\n", f"\n# save {what}\n", 1))
    beside.chmod(0o755)
    start = time.time()
    beside.rename(file)
    return start


def copied(directory: Path, extra: int = 0) -> Path:
    """A copy of the sample whose `test.sh` tells its own time, with more wrong solutions."""
    task = Path(shutil.copytree(TASK, directory / "slugify"))
    test = task / "tests/test.sh"
    lines = test.read_text().splitlines(keepends=True)
    lines.insert(1, 'echo "bench began $EPOCHREALTIME"\n')
    test.write_text("".join(lines) + 'echo "bench ended $EPOCHREALTIME"\n')
    for number in range(extra):
        shutil.copytree(task / "negatives/hard-coded", task / f"negatives/copy-{number:03}")
    return task


async def six_cases(saves: int) -> bool:
    with tempfile.TemporaryDirectory(prefix="edit-") as scratch:
        task = copied(Path(scratch))
        jobs = Path(scratch) / "jobs"
        options = EngineOptions(
            provider="bubblewrap", concurrency=2, confirm="never", state_dir=Path(scratch) / "state"
        )
        tests: list[Save] = []
        solves: list[Save] = []
        theirs_all: list[float] = []
        theirs_one: list[float] = []
        async with EngineLink(options) as link:
            author = Author(link, task)
            await author.open()
            await author.save("tests/test.sh")
            for number in range(saves):
                tests.append(await author.save("tests/test.sh"))
                if number < HARBOR_ROUNDS:
                    solves.append(await author.save("solution/solve.sh"))
                    took = {
                        case: await asyncio.to_thread(timed, partial(harbor_run, jobs, *agent(case)))
                        for case in cases()
                    }
                    theirs_all.append(sum(took.values()))
                    theirs_one.append(took["oracle"])
    last = statistics.median(save.last for save in tests)
    above = statistics.median(save.above for save in tests)
    faster = statistics.median(theirs_all) / last
    solve = statistics.median(save.last for save in solves)
    solve_faster = statistics.median(theirs_one) / solve
    table = Table("", "workbench", "harbor run", "", box=None)
    first = statistics.median(save.first for save in tests)
    table.add_row(
        "tests/test.sh, first verdict", f"{first:.3f} s", "", f"of which {above:.3f} s not test.sh's"
    )
    every = statistics.median(theirs_all)
    table.add_row("tests/test.sh, all six verdicts", f"{last:.3f} s", f"{every:.3f} s", f"{faster:.1f} times")
    one = statistics.median(theirs_one)
    table.add_row(
        "solution/solve.sh, its verdict", f"{solve:.3f} s", f"{one:.3f} s", f"{solve_faster:.1f} times"
    )
    Console(width=120).print(table)
    print(f"medians of {saves} saves of test.sh, {len(solves)} of solve.sh, {len(theirs_all)} of harbor run")
    print(f"bench edit_to_verdict solve.sh: {solve_faster:.1f} (required: >= {SOLVE_FASTER})")
    print(f"bench edit_to_verdict all: {faster:.1f} (required: >= {FASTER})")
    print(f"bench edit_to_verdict: {above:.3f} (required: <= {ABOVE})")
    return above <= ABOVE and faster >= FASTER and solve_faster >= SOLVE_FASTER


async def many_cases(extra: int, saves: int) -> bool:
    """How it grows: per case, with many beside few, in alternation."""
    few: list[float] = []
    lots: list[float] = []
    with tempfile.TemporaryDirectory(prefix="edit-") as scratch:
        small, large = copied(Path(scratch) / "small"), copied(Path(scratch) / "large", extra)
        here = Path(scratch)
        async with (
            EngineLink(_quiet(here / "state-small")) as one,
            EngineLink(_quiet(here / "state-large")) as other,
        ):
            quick, slow = Author(one, small), Author(other, large)
            await quick.open()
            await slow.open()
            await quick.save("tests/test.sh")
            for _ in range(saves):
                few.append((await quick.save("tests/test.sh")).last / len(cases()))
                lots.append((await slow.save("tests/test.sh")).last / (len(cases()) + extra))
            assert other.pid is not None
            memory = psutil.Process(other.pid).memory_info().rss / 2**20
        keys = keys_meanwhile(large, here, saves)
    growth = statistics.median(lots) / statistics.median(few)
    print(
        f"a case, of {len(cases())}: {statistics.median(few):.3f} s; of {len(cases()) + extra}: "
        f"{statistics.median(lots):.3f} s; medians of {saves} saves in alternation"
    )
    usual, slowest = (1e3 * time for time in (statistics.median(keys), statistics.quantiles(keys, n=100)[98]))
    print(f"{len(keys)} keys meanwhile: median {usual:.0f} ms")
    print(f"bench edit_to_verdict keys: {slowest:.0f} ms, p99 (required: <= {KEY_MS})")
    print(f"bench edit_to_verdict memory: {memory:.0f} MiB (required: <= {MEMORY_MIB})")
    print(f"bench edit_to_verdict growth: {growth:.2f} (required: <= {GROWTH + 0.1:.1f})")
    return growth <= GROWTH + 0.1 and memory <= MEMORY_MIB and slowest <= KEY_MS


def keys_meanwhile(task: Path, scratch: Path, saves: int) -> list[float]:
    """Seconds from a key to its effect in the terminal, while every save has all cases verified again."""
    os.environ["XDG_STATE_HOME"] = str(scratch / "state-screen")
    options = ("--provider", "bubblewrap", "-n", "2", "--confirm", "never", "--no-shell")
    taken = []
    with Screen([sys.executable, "-m", "workbench", str(task), *options]) as screen:
        screen.wait_for(b"HOLDS")
        for number in range(saves):
            rewrite(task / "tests/test.sh", f"key {number}")
            until = time.perf_counter() + 4.0
            while time.perf_counter() < until:
                taken.append(screen.press(b"j", "Run · nop".encode()))
                screen.read_for(0.05)
                taken.append(screen.press(b"k", "Run · oracle".encode()))
                screen.read_for(0.05)
            screen.wait_for(b"HOLDS")
    return taken


def _quiet(state: Path) -> EngineOptions:
    return EngineOptions(provider="bubblewrap", concurrency=2, confirm="never", state_dir=state)


def main() -> bool:
    parser = argparse.ArgumentParser()
    parser.add_argument("saves", nargs="?", type=int, default=SAVES)
    parser.add_argument("--many", type=int, default=0, metavar="NEGATIVES")
    options = parser.parse_args()
    if options.many:
        return asyncio.run(many_cases(options.many, min(options.saves, 5)))
    return asyncio.run(six_cases(options.saves))


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
