"""A stream may say anything; the screen stands."""

from __future__ import annotations

import random

import pytest

from tests.ui.driving import opened
from tests.ui.streams import TASK, Stream
from workbench import events as ev
from workbench.cases.case import Case
from workbench.proof.verdict import Verdict
from workbench.task.problem import Problem
from workbench.trials.outcome import Outcome, Phase, PhaseName, StepOutcome, Test

NASTY = (
    "",
    " ",
    "[/]",
    "[bold red]markup[/]",
    "[@click=app.quit]press me[/]",
    "$ok $nosuch",
    "\x1b[2J\x1b[H\x1b]0;owned\x07",
    "line one\nline two\r\nline three",
    "a\tb\x00c\x7f\x9b31m",
    "\u202eright to left\u2066",
    "e\u0301" * 40,
    "👩‍👩‍👧‍👦中文字",
    "\ud800",
    "x" * 5000,
)

PHASES: tuple[PhaseName, ...] = ("environment", "agent setup", "agent", "transfer", "verifier", "teardown")


def nasty(chance: random.Random) -> str:
    return chance.choice(NASTY)


def event(chance: random.Random) -> ev.Event:
    """Any event, its texts nasty, its numbers odd, its names known and unknown."""
    case = chance.choice(["oracle", "nop", "[/]", "never heard of"])
    run = chance.choice(["r1", "r2", "r3", "r4", "ghost"])
    at = chance.choice([0.0, -5.0, 1.76e9, 1.76e9 + chance.random() * 100, 1e18])
    phases = tuple(
        Phase(name, chance.uniform(-9, 9), chance.choice([None, chance.uniform(-9, 9), 1e300]), nasty(chance))
        for name in chance.sample(PHASES, 3)
    )
    outcome = Outcome(
        kind=chance.choice(["passed", "failed", "void", "error", "timeout", "killed", "cancelled"]),
        reason=nasty(chance),
        reward=chance.choice([None, 0.0, 1.0, -3.25, 1e308]),
        rewards={nasty(chance): 1.0, "reward": 0.5},
        met=chance.choice([None, True, False]),
        detail=(nasty(chance), nasty(chance)),
        tests=tuple(
            Test(nasty(chance), "failed", nasty(chance), chance.choice([None, 0.1])) for _ in range(3)
        ),
        steps=(StepOutcome(nasty(chance), None),),
        phases=chance.choice([(), phases]),
        notes=(nasty(chance),),
    )
    choices: list[ev.Event] = [
        ev.EngineStarted(at=at, pid=1, version=nasty(chance)),
        ev.EngineFailed(at=at, message=nasty(chance), hint=nasty(chance)),
        ev.ProviderChosen(at=at, name="x", label=nasty(chance), why=nasty(chance)),
        ev.TaskOpened(at=at, task=TASK, name=nasty(chance), image=nasty(chance)),
        ev.TaskUnreadable(at=at, task=TASK, reason=nasty(chance)),
        ev.ProblemsFound(
            at=at,
            task=TASK,
            problems=tuple(
                Problem(nasty(chance), "x", "error", nasty(chance), nasty(chance)) for _ in range(3)
            ),
        ),
        ev.CasesFound(
            at=at,
            task=TASK,
            cases=tuple(
                Case(name, "negative", chance.choice(["pass", "fail", None]), nasty(chance))
                for name in ("oracle", "nop", "[/]", nasty(chance))
            ),
        ),
        ev.WatchingChanged(at=at, task=TASK, watching=chance.random() < 0.5),
        ev.FilesChanged(at=at, task=TASK, paths=(nasty(chance),), why=nasty(chance)),
        ev.CaseStale(at=at, task=TASK, case=case, why=nasty(chance)),
        ev.RunQueued(at=at, task=TASK, case=case, run=run, why=nasty(chance)),
        ev.RunStarted(at=at, task=TASK, case=case, run=run, trial_dir=nasty(chance)),
        ev.PhaseStarted(at=at, run=run, phase=chance.choice(["agent", "verifier"]), step=nasty(chance)),
        ev.Output(at=at, run=run, source=chance.choice(["agent", "verifier"]), text=nasty(chance) * 3),
        ev.RunEnded(at=at, task=TASK, case=case, run=run, outcome=outcome),
        ev.VerdictReached(
            at=at, task=TASK, verdict=Verdict("broken", nasty(chance), (nasty(chance), case), -1, 3)
        ),
        ev.Settled(at=at, task=TASK),
        ev.Settled(at=at, task=nasty(chance)),
    ]
    return chance.choice(choices)


@pytest.mark.parametrize("size", [(160, 50), (90, 30), (60, 20), (20, 5)])
@pytest.mark.parametrize("seed", range(2))
async def test_no_stream_brings_the_screen_down(seed: int, size: tuple[int, int]) -> None:
    chance = random.Random(seed)
    async with opened(Stream().engine().task(), size) as driven:
        for _ in range(8):
            driven.source.feed(*(event(chance) for _ in range(40)))
            await driven.settle()
            await driven.press(
                chance.choice(["down", "up", "enter", "escape", "bracketright", "comma", "d", "2", "3"])
            )
            assert not any(0x80 <= ord(c) < 0xA0 or ord(c) < 0x20 for c in driven.text.replace("\n", ""))
        await driven.press("question_mark", "escape")


async def test_markup_in_names_is_shown_as_it_is() -> None:
    stream = Stream().engine().task((Case("[bold]x[/bold]", "negative", "fail", "[red]why[/]"),))
    stream.whole("[bold]x[/bold]", Outcome(kind="failed", reason="[/nope]", met=True))
    async with opened(stream) as driven:
        assert "3 Run · [bold]x[/bold]" in driven.text
        assert "[red]why[/]" in driven.text
        assert "[/nope]" in driven.text


async def test_a_run_that_is_announced_twice_is_shown_once_more() -> None:
    stream = Stream().engine().task().queue("oracle", "r1").queue("oracle", "r1")
    async with opened(stream) as driven:
        assert "waiting" in driven.text
