"""Only what changed: what is verified again, what runs whole, and what a receipt stands for."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.engine.conftest import Engine, outcome
from tests.engine.test_loop import NEGATIVES, rewrite
from workbench import events as ev
from workbench import places, wishes
from workbench.link import EngineLink, EngineOptions
from workbench.session import TaskView

CASES = ["oracle", "nop", *NEGATIVES]


@pytest.fixture
async def quick(tmp_path: Path) -> AsyncIterator[Engine]:
    """An engine that confirms soon after the last save."""
    async with EngineLink(
        EngineOptions(provider="bubblewrap", state_dir=tmp_path / "state", idle=0.2)
    ) as link:
        yield Engine(link)


@pytest.fixture
async def hasty(tmp_path: Path) -> AsyncIterator[Engine]:
    """An engine that never confirms."""
    options = EngineOptions(provider="bubblewrap", state_dir=tmp_path / "state", confirm="never")
    async with EngineLink(options) as link:
        yield Engine(link)


def started(engine: Engine, since: int) -> dict[str, list[bool]]:
    """By case, whether each run begun since then was a whole trial."""
    found: dict[str, list[bool]] = {}
    for event in engine.said(ev.RunStarted, since):
        found.setdefault(event.case, []).append(event.whole)
    return found


async def settled_again(engine: Engine, view: TaskView, since: int) -> None:
    await engine.until(lambda: engine.said(ev.FilesChanged, since) and engine.said(ev.Settled, since))
    await engine.until(lambda: view.settled)


async def test_an_edit_of_the_tests_verifies_again_what_every_agent_left(
    hasty: Engine, slugify: Path
) -> None:
    view = await hasty.open(slugify)
    since = len(hasty.events)
    rewrite(slugify / "tests/test.sh", "#!/bin/bash", "#!/bin/bash\necho again")
    await settled_again(hasty, view, since)
    assert started(hasty, since) == {name: [False] for name in CASES}
    assert view.verdict is not None
    assert view.verdict.kind == "holds"
    run = view.cases["oracle"].decided
    assert run is not None
    assert not outcome(view.cases["oracle"]).whole
    assert run.text("verifier").startswith("again\n")
    assert [phase.name for phase in run.phases] == ["environment", "verifier", "teardown"]


async def test_each_verification_starts_from_what_the_agent_left_not_from_the_last_one(
    hasty: Engine, slugify: Path
) -> None:
    view = await hasty.open(slugify)
    for number in range(3):
        since = len(hasty.events)
        rewrite(
            slugify / "tests/test.sh",
            "#!/bin/bash",
            f"#!/bin/bash\n# {number}\necho marks: $(ls /app | grep -c mark)\ntouch /app/mark-{number}",
        )
        await settled_again(hasty, view, since)
        run = view.cases["oracle"].decided
        assert run is not None
        assert "marks: 0\n" in run.text("verifier")


async def test_re_verifications_are_confirmed_by_whole_trials_once_saves_have_settled(
    quick: Engine, slugify: Path
) -> None:
    view = await quick.open(slugify)
    since = len(quick.events)
    rewrite(slugify / "tests/test.sh", "#!/bin/bash", "#!/bin/bash\necho again")
    await quick.until(lambda: started(quick, since) == {name: [False, True] for name in CASES})
    await quick.until(lambda: all(outcome(case).whole for case in view.cases.values()) and view.settled)
    assert view.verdict is not None
    assert view.verdict.kind == "holds"
    assert not quick.said(ev.ConfirmationDiffered)


async def test_a_confirmation_that_disagrees_is_a_finding(quick: Engine, slugify: Path) -> None:
    view = await quick.open(slugify)
    since = len(quick.events)
    # A branch of a state has no processes of the trial before it, so its counter starts anew.
    rewrite(
        slugify / "tests/test.sh",
        "python3 -I /tests/grade.py && reward=1",
        "[ -e /dev/shm/left ] || python3 -I /tests/grade.py && reward=1",
    )
    rewrite(slugify / "negatives/hard-coded/solve.sh", "#!/bin/bash", "#!/bin/bash\ntouch /dev/shm/left")
    await settled_again(quick, view, since)
    assert view.verdict is not None
    assert view.verdict.kind == "cannot fail"
    since = len(quick.events)
    rewrite(slugify / "tests/test.sh", "#!/bin/bash", "#!/bin/bash\n# again")
    await quick.until(lambda: quick.said(ev.ConfirmationDiffered, since))
    [differed] = quick.said(ev.ConfirmationDiffered, since)
    assert differed.case == "hard-coded"
    assert differed.reverified.startswith("failed: reward 0")
    assert differed.whole.startswith("passed: reward 1")
    assert view.differed["hard-coded"] == differed
    await quick.until(lambda: view.verdict and view.verdict.kind == "cannot fail" and view.settled)


async def test_a_state_that_had_living_processes_is_not_verified_again(hasty: Engine, slugify: Path) -> None:
    rewrite(
        slugify / "negatives/hard-coded/solve.sh",
        "#!/bin/bash",
        "#!/bin/bash\nsleep 300 < /dev/null > /dev/null 2>&1 &",
    )
    view = await hasty.open(slugify)
    since = len(hasty.events)
    rewrite(slugify / "tests/test.sh", "#!/bin/bash", "#!/bin/bash\necho again")
    await settled_again(hasty, view, since)
    assert started(hasty, since) == {name: [name == "hard-coded"] for name in CASES}


@pytest.mark.parametrize(
    ("path", "old", "new", "ran"),
    [
        ("instruction.md", "\n", "\nmore\n", dict.fromkeys(CASES, True)),
        ("task.toml", "[agent]", "# a comment\n[agent]", {}),
        ("README.md", "\n", "\nmore\n", {}),
        ("negatives/hard-coded/solve.sh", "#!/bin/bash", "#!/bin/bash\n#", {"hard-coded": True}),
        ("negatives/hard-coded/case.toml", "why = ", "why = 'x' # ", {}),
        ("solution/solve.sh", "#!/bin/bash", "#!/bin/bash\n#", {"oracle": True}),
        ("task.toml", "timeout_sec = 30.0", "timeout_sec = 31.0", dict.fromkeys(CASES, False)),
        ("task.toml", "memory_mb = 512", "memory_mb = 513", dict.fromkeys(CASES, True)),
        ("tests/expected.json", "\n", "\n ", dict.fromkeys(CASES, False)),
        ("task.toml", "python:3.12-slim", "python:3.13-slim", dict.fromkeys(CASES, True)),
    ],
)
async def test_what_runs_again_for_an_edit(
    hasty: Engine, slugify: Path, path: str, old: str, new: str, ran: dict[str, bool]
) -> None:
    view = await hasty.open(slugify)
    since = len(hasty.events)
    rewrite(slugify / path, old, new)
    await hasty.until(lambda: hasty.said(ev.FilesChanged, since) and hasty.said(ev.Settled, since))
    await hasty.until(lambda: view.settled)
    assert started(hasty, since) == {name: [whole] for name, whole in ran.items()}


async def test_undoing_an_edit_brings_back_what_the_receipts_know(hasty: Engine, slugify: Path) -> None:
    view = await hasty.open(slugify)
    test = slugify / "tests/test.sh"
    text = test.read_text()
    since = len(hasty.events)
    rewrite(test, "reward=0", "reward=1")
    await settled_again(hasty, view, since)
    assert view.verdict is not None
    assert view.verdict.kind == "cannot fail"
    since = len(hasty.events)
    test.write_text(text)
    await hasty.until(lambda: view.verdict and view.verdict.kind == "holds")
    assert started(hasty, since) == {}
    assert [event.case for event in hasty.said(ev.RunRecalled, since)] == CASES


async def test_opening_a_task_again_shows_its_proof_at_once_and_replays_it_behind(
    hasty: Engine, slugify: Path
) -> None:
    await hasty.open(slugify)
    await hasty.link.stop()
    await hasty.ended()
    async with EngineLink(hasty.link.options) as link:
        again = Engine(link)
        view = await again.open(slugify)
        first = next(
            index for index, event in enumerate(again.events) if isinstance(event, ev.VerdictReached)
        )
        assert not [event for event in again.events[:first] if isinstance(event, ev.RunStarted)]
        assert [event.case for event in again.said(ev.RunRecalled)] == CASES
        assert view.verdict is not None
        assert view.verdict.kind == "holds"
        assert started(again, 0) == {name: [True] for name in CASES}


async def test_a_check_takes_receipts_only_when_told_to(hasty: Engine, slugify: Path) -> None:
    await hasty.open(slugify, watch=False)
    async with EngineLink(hasty.link.options) as link:
        again = Engine(link)
        await again.open(slugify, watch=False)
        assert started(again, 0) == {name: [True] for name in CASES}
    async with EngineLink(hasty.link.options) as link:
        again = Engine(link)
        await link.send(wishes.OpenTask(task=str(slugify), watch=False, cached=True))
        view = again.session.task(str(slugify))
        await again.until(lambda: view.settled)
        assert started(again, 0) == {}
        assert view.verdict is not None
        assert view.verdict.kind == "holds"


async def test_a_receipt_tells_the_proof_or_why_it_is_stale(hasty: Engine, slugify: Path) -> None:
    view = await hasty.open(slugify, watch=False)
    await hasty.link.send(wishes.TellReceipt(task=str(slugify)))
    await hasty.until(lambda: view.receipt)
    assert view.receipt is not None
    assert (view.receipt.verdict.kind, view.receipt.stale, view.receipt.whole) == ("holds", (), True)
    rewrite(slugify / "tests/test.sh", "#!/bin/bash", "#!/bin/bash\n# again")
    since = len(hasty.events)
    await hasty.link.send(wishes.TellReceipt(task=str(slugify)))
    await hasty.until(lambda: hasty.said(ev.ReceiptTold, since))
    assert view.receipt.stale[0] == "oracle: tests/test.sh changed"
    assert len(view.receipt.stale) == len(CASES)


async def test_the_runs_that_are_kept_are_told_the_newest_first(hasty: Engine, slugify: Path) -> None:
    view = await hasty.open(slugify, watch=False)
    await hasty.link.send(wishes.TellEarlierRuns(task=str(slugify)))
    await hasty.until(lambda: view.earlier)
    assert {one.case for one in view.earlier} == set(CASES)
    assert [one.at for one in view.earlier] == sorted((one.at for one in view.earlier), reverse=True)
    assert all(one.task == str(slugify) and Path(one.trial_dir).is_dir() for one in view.earlier)


async def test_what_was_given_up_for_want_of_room_runs_whole_again(tmp_path: Path, slugify: Path) -> None:
    options = EngineOptions(
        provider="bubblewrap", state_dir=tmp_path / "state", confirm="never", keep_states=2
    )
    async with EngineLink(options) as link:
        engine = Engine(link)
        view = await engine.open(slugify)
        since = len(engine.events)
        rewrite(slugify / "tests/test.sh", "#!/bin/bash", "#!/bin/bash\n# again")
        await settled_again(engine, view, since)
        kinds = [runs[-1] for runs in started(engine, since).values()]
        # Those that run whole keep states of their own, for which the others may be given up in turn.
        assert kinds.count(True) >= len(CASES) - 2
        assert view.verdict is not None
        assert view.verdict.kind == "holds"


async def test_the_steps_of_a_task_are_verified_again_from_the_one_that_changed(
    hasty: Engine, tmp_path: Path
) -> None:
    task = Path(shutil.copytree(places.shipped("sample_tasks") / "multi-step", tmp_path / "multi-step"))
    view = await hasty.open(task)
    steps = view.opened.steps if view.opened else ()
    assert len(steps) == 2
    since = len(hasty.events)
    expected = task / "steps" / steps[-1] / "tests/expected.json"
    expected.write_text(expected.read_text() + "\n")
    await settled_again(hasty, view, since)
    assert started(hasty, since) == {name: [False] for name in view.cases}
    assert view.verdict is not None
    assert view.verdict.kind == "holds"
    run = view.cases["oracle"].decided
    assert run is not None
    assert [phase.name for phase in run.phases if phase.step == steps[-1]][-1] == "verifier"


async def test_a_separate_verifier_is_given_the_artifacts_that_were_kept(
    hasty: Engine, tmp_path: Path
) -> None:
    task = Path(shutil.copytree(places.shipped("sample_tasks") / "separate-verifier", tmp_path / "separate"))
    view = await hasty.open(task)
    since = len(hasty.events)
    rewrite(task / "tests/test.sh", "#!/bin/bash", "#!/bin/bash\n# again")
    await settled_again(hasty, view, since)
    # Harbor verifies artifacts again only where all that are declared were there.
    without = {"nop", "leaves-it-elsewhere"}
    assert started(hasty, since) == {
        name: [False, True] if name in without else [False] for name in view.cases
    }
    assert "nop needs a whole trial" in " ".join(notice.message for notice in hasty.said(ev.Notice, since))
    assert view.verdict is not None
    assert view.verdict.kind == "holds"
