"""What is served without a run is what a run would give, whatever was edited and whoever was killed."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import msgspec
import pytest

from tests.engine.conftest import Engine
from workbench import events as ev
from workbench import places, wishes
from workbench.link import EngineLink, EngineOptions
from workbench.session import TaskView

SAMPLES = places.shipped("sample_tasks")
EDITS = 6
KILLS = 50

type Came = tuple[str, float | None, bool | None, tuple[tuple[str, str], ...]]


def came(view: TaskView) -> dict[str, Came]:
    """What each case came to, without what differs from run to run."""
    found: dict[str, Came] = {}
    for name, case in view.cases.items():
        assert case.decided is not None
        outcome = case.decided.outcome
        assert outcome is not None
        tests = tuple((test.name, test.status) for test in outcome.tests)
        found[name] = (outcome.kind, outcome.reward, outcome.met, tests)
    return found


def edit(task: Path, dice: random.Random) -> str:
    """Change a random file: most edits matter, some do not, and some break things."""
    files = sorted(path for path in task.rglob("*") if path.is_file())
    file = dice.choice(files)
    text = file.read_text()
    changes = [
        text + "\n",
        text.replace("0", "1", 1),
        text.replace("e", "f", 1),
        text.replace("\n", "\n\n", 1),
    ]
    if file.suffix in (".sh", ".py"):
        changes += [text + "\n# more\n", text.replace("echo", ": #", 1)]
    file.write_text(dice.choice(changes))
    return file.relative_to(task).as_posix()


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("sample", "seed"), [("slugify", 1), ("several-rewards", 2), ("separate-verifier", 3), ("multi-step", 4)]
)
async def test_whatever_is_served_after_random_edits_is_what_a_full_replay_gives(
    tmp_path: Path, sample: str, seed: int
) -> None:
    dice = random.Random(seed)
    task = Path(shutil.copytree(SAMPLES / sample, tmp_path / sample))
    options = EngineOptions(provider="bubblewrap", confirm="never", state_dir=tmp_path / "state")
    async with EngineLink(options) as link, EngineLink(fresh(tmp_path)) as other:
        engine, judge = Engine(link), Engine(other)
        view = await engine.open(task)
        edited = []
        for _ in range(EDITS):
            since = len(engine.events)
            edited.append(edit(task, dice))
            await engine.until(lambda since=since: engine.said(ev.Settled, since) or view.unreadable)  # type: ignore[misc]
            await engine.until(lambda: view.settled or view.unreadable)
            whole = judge.session.task(str(task))
            whole.settled = False
            await judge.link.send(wishes.OpenTask(task=str(task), watch=False))
            await judge.until(lambda whole=whole: whole.settled or whole.unreadable)  # type: ignore[misc]
            assert bool(view.unreadable) == bool(whole.unreadable), edited
            if view.unreadable:
                break
            assert came(view) == came(whole), edited


def fresh(tmp_path: Path) -> EngineOptions:
    """An engine that has never run anything."""
    return EngineOptions(provider="bubblewrap", confirm="never", state_dir=tmp_path / "other")


@pytest.mark.timeout(600)
async def test_engines_killed_at_random_leave_only_true_receipts(tmp_path: Path, slugify: Path) -> None:
    """Every receipt that a later start serves is of a trial that really came to that."""
    dice = random.Random(5)
    options = EngineOptions(provider="bubblewrap", state_dir=tmp_path / "state")
    for _ in range(KILLS):
        link = EngineLink(options)
        await link.start()
        engine = Engine(link)
        await link.send(wishes.OpenTask(task=str(slugify), watch=False, cached=dice.random() < 0.5))
        words = dice.randrange(90)
        await engine.until(lambda: len(engine.events) > words or engine.said(ev.Settled))  # noqa: B023
        link.kill()
        await engine.ended()
    async with EngineLink(options) as link:
        engine = Engine(link)
        await link.send(wishes.OpenTask(task=str(slugify), watch=False, cached=True))
        view = engine.session.task(str(slugify))
        await engine.until(lambda: view.settled)
        for recalled in engine.said(ev.RunRecalled):
            result = msgspec.json.decode((Path(recalled.trial_dir) / "result.json").read_bytes())
            assert result["verifier_result"]["rewards"] == recalled.outcome.rewards
        assert view.verdict is not None
        assert view.verdict.kind == "holds"
    assert [path.name for path in (tmp_path / "state/machines").iterdir() if path.is_dir()] == []
