"""What the workbench costs beside `harbor run`, on the same task and the same environment class.

Two comparisons, each from runs in alternation: one oracle case in a running engine, from wish to
outcome, against one `harbor run -a oracle`; and a cold `workbench check -n 2` of all the sample's cases
against one `harbor run` for each case.

    uv run python tests/bench/overhead.py [ROUNDS]
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table

from workbench import events as ev
from workbench import places
from workbench.link import EngineLink, EngineOptions
from workbench.trials.script_agent import IMPORT_PATH as SCRIPT_AGENT
from workbench.wishes import OpenTask, Replay

LIMIT = 0.333
ROUNDS = 5
ENVIRONMENT = "workbench.trials.bubblewrap:BubblewrapEnvironment"
TASK = places.shipped("sample_tasks") / "slugify"
BIN = Path(sys.executable).parent


async def main(rounds: int) -> bool:
    with tempfile.TemporaryDirectory(prefix="overhead-") as scratch:
        jobs = Path(scratch) / "jobs"
        agents = {case: agent(case) for case in cases()}
        one, every = Comparison("one oracle case"), Comparison(f"all {len(agents)} cases")
        options = EngineOptions(provider="bubblewrap", concurrency=2, state_dir=Path(scratch) / "state")
        async with EngineLink(options) as link:
            oracle = Oracle(link)
            await oracle.open()
            for number in range(rounds + 1):
                ours = await oracle.replay()
                theirs = await asyncio.to_thread(timed, partial(harbor_run, jobs, *agents["oracle"]))
                one.add(ours, theirs, warm_up=number == 0)
        for number in range(rounds + 1):
            ours = timed(partial(check, Path(scratch)))
            theirs = sum(timed(partial(harbor_run, jobs, *words)) for words in agents.values())
            every.add(ours, theirs, warm_up=number == 0)
        graded = sorted(reward(path) for path in jobs.glob("*/*/result.json"))
        assert graded == [0.0] * (len(agents) - 1) * (rounds + 1) + [1.0] * 2 * (rounds + 1), graded
    report(one, every)
    worst = max(one.ratio, every.ratio)
    print(f"bench overhead: {worst:.3f} (required: <= {LIMIT})")
    return worst <= LIMIT


class Comparison:
    """Seconds of ours beside seconds of theirs, round by round."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.ours: list[float] = []
        self.theirs: list[float] = []

    def add(self, ours: float, theirs: float, *, warm_up: bool) -> None:
        if not warm_up:
            self.ours.append(ours)
            self.theirs.append(theirs)

    @property
    def ratio(self) -> float:
        """The median of the rounds' ratios."""
        return statistics.median(mine / its for mine, its in zip(self.ours, self.theirs, strict=True))


class Oracle:
    """The oracle case in a running engine."""

    def __init__(self, link: EngineLink) -> None:
        self.link = link
        self.events = link.events()

    async def open(self) -> None:
        await self.link.send(OpenTask(task=str(TASK), watch=False, replay=False, only=("oracle",)))
        await self.until(ev.CasesFound)

    async def replay(self) -> float:
        """Seconds from wish to outcome."""
        start = time.perf_counter()
        await self.link.send(Replay(task=str(TASK), cases=("oracle",)))
        ended = await self.until(ev.RunEnded)
        assert ended.outcome.reward == 1.0, ended.outcome
        return time.perf_counter() - start

    async def until[E: ev.Event](self, kind: type[E]) -> E:
        async for event in self.events:
            if isinstance(event, kind):
                return event
        raise RuntimeError(f"the engine ended before it sent {kind.__name__}")


def cases() -> list[str]:
    """The names of the sample's cases."""
    negatives = TASK / "negatives"
    return ["oracle", "nop", *sorted(path.name.removesuffix(".sh") for path in negatives.iterdir())]


def agent(case: str) -> list[str]:
    """How `harbor run` is told to run a case."""
    if case in ("oracle", "nop"):
        return ["--agent", case]
    directory = TASK / "negatives" / case
    script = directory / "solve.sh" if directory.is_dir() else TASK / "negatives" / f"{case}.sh"
    kwargs = {"task_dir": str(TASK), "scripts": json.dumps([str(script)])}
    words = [word for name, value in kwargs.items() for word in ("--agent-kwarg", f"{name}={value}")]
    return ["--agent", SCRIPT_AGENT, *words]


def harbor_run(jobs: Path, *agent: str) -> None:
    words = ("run", *agent, "--path", TASK, "--env", ENVIRONMENT, "--jobs-dir", jobs, "--quiet", "--yes")
    quietly([BIN / "harbor", *words])


def reward(result: Path) -> float:
    return float(json.loads(result.read_text())["verifier_result"]["rewards"]["reward"])


def check(scratch: Path) -> None:
    """With a state directory of its own, so that nothing is left from before."""
    words = ("check", TASK, "-n", "2", "--provider", "bubblewrap")
    quietly([BIN / "workbench", *words], XDG_STATE_HOME=tempfile.mkdtemp(dir=scratch))


def quietly(command: list[object], **env: str) -> None:
    done = subprocess.run(
        [str(word) for word in command],
        env=os.environ | {"HARBOR_TELEMETRY": "off"} | env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise SystemExit(f"{command} ended with {done.returncode}:\n{done.stdout}{done.stderr}")


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def report(*comparisons: Comparison) -> None:
    table = Table("", "workbench", "harbor run", "ratio", box=None)
    for comparison in comparisons:
        ours, theirs = statistics.median(comparison.ours), statistics.median(comparison.theirs)
        table.add_row(comparison.name, f"{ours:.3f} s", f"{theirs:.3f} s", f"{comparison.ratio:.3f}")
    Console().print(table)
    print(f"medians of {len(comparisons[0].ours)} rounds in alternation, after one to warm up")


if __name__ == "__main__":
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    sys.exit(0 if asyncio.run(main(wanted)) else 1)
