"""Everything that the app can show: its screens, tabs and overlays, in every state."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.ui import streams, task_streams
from tests.ui.driving import Driven, opened, still, until
from tests.ui.streams import Stream
from tests.ui.task_streams import TaskStream
from tests.ui.trials import raised, two_trials
from workbench import events as ev
from workbench.trials.file_changes import Changes, FileChange, write_changes
from workbench.trials.outcome import Outcome, Test
from workbench.ui.shells.task_shells import TaskShells

NEXT = "right_square_bracket"


@dataclass(frozen=True)
class Scene:
    """How to come to see something."""

    stream: Callable[[], Stream]
    """What has happened. It may write trial directories into the working directory."""
    keys: tuple[str, ...] = ()
    """What is pressed then."""
    shell: bool = False
    """Whether a shell stands ready before that."""
    dies: bool = False
    """Whether the engine is killed in the end."""

    @asynccontextmanager
    async def seen(
        self, size: tuple[int, int] = (160, 50), theme: str = "night", **options: Any
    ) -> AsyncIterator[Driven]:
        """The app, once everything is on its screen.

        Args:
            options: As of `app_for`.
        """
        async with opened(self.stream(), size, theme=theme, shell=self.shell, **options) as driven:
            if self.shell:
                driven.source.feed(*TaskStream().shell().events)
                await until(driven.pilot, lambda: bool(driven.app.screen.query_one(TaskShells).shells))
            if self.dies:
                driven.source.die(-9)
            for key in self.keys:
                await driven.press(key)
                await _idle(driven)
            await _idle(driven)
            await still(driven.pilot)
            yield driven


async def _idle(driven: Driven) -> None:
    await until(driven.pilot, lambda: not any(worker.group != "events" for worker in driven.app.workers))


def many_trials() -> Stream:
    """Of sixteen trials eight ended, the fifth otherwise than the rest; four run, and four wait."""
    return trials_of("oracle", 16)


def trials_of(case: str, times: int) -> Stream:
    """The same of another case, or another number of trials."""
    void = Outcome(kind="void", reason="the verifier ran no test", reward=0.0)
    stream = Stream().engine().wait(0.3).task()
    for number in range(1, times + 1):
        stream.queue(case, f"{case}-{number}", why=f"repeated, {number} of {times}", times=times)
    for number in range(1, 9):
        run = f"{case}-{number}"
        stream.start(case, run).phase(run, "environment").wait(0.1 + number * 0.02)
        stream.phase(run, "agent").wait(0.1).phase(run, "verifier").wait(0.3 + number * 0.05)
        good = streams.passed() if case == "oracle" else streams.failed()
        stream.end(case, void if number == 5 else good, run)
    for number in range(9, 13):
        run = f"{case}-{number}"
        stream.start(case, run).phase(run, "environment").wait(0.2).phase(run, "agent").wait(0.1)
        stream.print(run, f"step {number} of many\n\x1b[32mworking on it\x1b[0m {number}\n\n", "agent")
    stream.phase(f"{case}-9", "verifier").wait(0.4)
    machines = tuple(
        ev.MachineCost(f"{case}-{n}", f"a run of {case}", (30 + n) << 20, run=f"{case}-{n}")
        for n in range(9, 13)
    )
    return stream.add(ev.CostsMeasured(at=stream.now, machines=machines, states=()))


def noticed() -> Stream:
    """A notice of every severity."""
    stream = streams.holding()
    for level, text in (
        ("info", "the image was built"),
        ("warning", "the machine has little memory left"),
        ("error", "the disk is full\nnothing was written"),
    ):
        stream.add(ev.Notice(at=stream.now, level=level, message=text))  # type: ignore[arg-type]
    return stream


def changed() -> Stream:
    """A run that changed files, one with a difference."""
    diff = "--- /app/slug.py\n+++ /app/slug.py\n@@ -1,2 +1,2 @@\n import re\n-old line\n+new line\n"
    files = (
        FileChange(path="/app/slug.py", change="changed", kind="file", what="text", size=20, diff=diff),
        FileChange(path="/app/old", change="removed", kind="directory"),
        FileChange(path="/app/it.png", change="added", kind="file", what="PNG image", size=100, mode="0644"),
    )
    stream = two_trials()
    write_changes(Changes(files=files, left_out=7), Path("trial-1"))
    return stream


def with_tests() -> Stream:
    """Tests of every result, one of them tried again."""
    tests = (
        Test("test_words", "passed", seconds=0.25, reruns=2),
        Test("test_slow", "skipped", "needs a network"),
        Test("test_long", "failed", "AssertionError: it was cut\nat line 3", 0.5),
        Test("test_setup", "error", "fixture 'x' not found"),
    )
    outcome = Outcome(kind="failed", reason="graded 0.0", reward=0.0, met=False, tests=tests)
    return Stream().engine().task().whole("oracle", outcome, streams.FAILING)


def colourful() -> Stream:
    """Output in every colour that a program can name, on every ground, and with sequences that are shown."""
    codes = [*range(30, 38), *range(90, 98), 2, 7, *range(40, 48), *range(100, 108)]
    named = "".join(f"\x1b[{code}mtext in {code}\x1b[0m \x1b[7;{code}mreversed\x1b[0m\n" for code in codes)
    text = f"\x1b[2J\x1b]0;x\x07\n{named}"
    text += "".join(f"\x1b[38;5;{n}mcolour {n}\x1b[0m " + ("\n" if n % 8 == 7 else "") for n in range(256))
    return Stream().engine().task().whole("oracle", streams.passed(), text + "\n")


def idle_task() -> Stream:
    """A task in which nothing has run."""
    return Stream().engine().task()


def with_costs() -> Stream:
    """What machines and states take."""
    return task_streams.opened_task().costs()


_MAIN = {
    state.__name__: Scene(state, dies=state is streams.died)
    for state in (
        streams.empty,
        streams.busy,
        streams.holding,
        streams.cannot_fail,
        streams.broken,
        streams.died,
        task_streams.reverified,
        task_streams.recalled,
        task_streams.differed,
        task_streams.building,
        task_streams.build_failed,
        idle_task,
        colourful,
    )
}
_RUN = {
    "toasts": Scene(noticed),
    "problems": Scene(streams.broken, ("2",)),
    "a marked run": Scene(streams.holding, ("j", "space")),
    "verifier": Scene(streams.cannot_fail, ("3", "exclamation_mark")),
    "raw output": Scene(colourful, ("3", "u")),
    "search": Scene(streams.broken, ("3", "slash", *"long", "enter")),
    "tests": Scene(with_tests, (NEXT, NEXT, "3")),
    "trajectory": Scene(two_trials, (NEXT, NEXT, NEXT, "3", "j", "j")),
    "trajectory filter": Scene(two_trials, (NEXT, NEXT, NEXT, "3", "slash", *"ls")),
    "timing": Scene(streams.busy, (*[NEXT] * 4, "3")),
    "changes": Scene(changed, (*[NEXT] * 5, "3")),
    "files": Scene(two_trials, (*[NEXT] * 5, "3", "j", "j", "j")),
    "log": Scene(lambda: raised(Path("trial-1")), (*[NEXT] * 6, "3")),
}
_COMPARE = {
    f"compare {tab}": Scene(two_trials, ("j", "c", *[NEXT] * steps, *keys))
    for steps, tab, keys in (
        (0, "verifier", ("n",)),
        (1, "agent", ()),
        (2, "tests", ("j",)),
        (3, "trajectory", ("n",)),
        (4, "timing", ()),
        (5, "files", ("n",)),
    )
}
_OVERLAYS = {
    "grid": Scene(many_trials, ("D", "right", "down")),
    "presenting": Scene(many_trials, ("D", "P")),
    "empty grid": Scene(idle_task, ("D",)),
    "help": Scene(streams.holding, ("question_mark",)),
    "help filter": Scene(streams.holding, ("question_mark", *"run")),
    "palette": Scene(streams.holding, ("ctrl+p",)),
    "palette search": Scene(streams.holding, ("ctrl+p", *"run")),
    "themes": Scene(streams.holding, ("f3",)),
    "goto": Scene(streams.holding, ("colon", "r")),
    "find": Scene(streams.holding, ("slash",)),
    "compare with": Scene(streams.holding, ("j", "C")),
    "notices": Scene(noticed, ("at",)),
    "no notices": Scene(streams.holding, ("at",)),
    "builds": Scene(task_streams.building, ("b",)),
    "failed builds": Scene(task_streams.build_failed, ("b",)),
    "no builds": Scene(task_streams.opened_task, ("b",)),
    "costs": Scene(with_costs, ("m",)),
    "no costs": Scene(streams.holding, ("m",)),
    "shell beside": Scene(with_costs, shell=True),
    "shell": Scene(with_costs, ("4",), shell=True),
    "draft": Scene(with_costs, ("4", "f9"), shell=True),
}
SCENES = _MAIN | _RUN | _COMPARE | _OVERLAYS
