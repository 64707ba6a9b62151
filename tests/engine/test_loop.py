"""The loop: open a task, replay its cases, watch it, and say what they come to."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.conftest import Engine, outcome
from workbench import events as ev
from workbench import places, wishes

NEGATIVES = ["double-hyphens", "hard-coded", "keeps-unicode", "truncates-title"]
SAMPLES = places.shipped("sample_tasks")


def rewrite(path: Path, old: str, new: str) -> None:
    """Save by rename, as editors do."""
    text = path.read_text()
    assert old in text
    beside = path.with_name(f".{path.name}.new")
    beside.write_text(text.replace(old, new, 1))
    beside.chmod(path.stat().st_mode)
    beside.rename(path)


async def test_opening_a_task_replays_its_cases_and_says_that_the_harness_holds(
    engine: Engine, slugify: Path
) -> None:
    view = await engine.open(slugify)
    assert list(view.cases) == ["oracle", "nop", *NEGATIVES]
    assert {name: outcome(case).reward for name, case in view.cases.items()} == {
        "oracle": 1.0,
        "nop": 0.0,
        **dict.fromkeys(NEGATIVES, 0.0),
    }
    assert view.verdict is not None
    assert (view.verdict.kind, view.verdict.held, view.verdict.total) == ("holds", 6, 6)


async def test_a_run_is_told_phase_by_phase_with_the_verifiers_output_live(
    engine: Engine, slugify: Path
) -> None:
    test = slugify / "tests/test.sh"
    test.write_text(test.read_text() + '\necho "the last word"\n')
    view = await engine.open(slugify)
    run = view.cases["oracle"].decided
    assert run is not None
    phases = [event.phase for event in engine.said(ev.PhaseStarted) if event.run == run.id]
    assert phases == ["environment", "agent", "transfer", "verifier", "teardown"]
    assert run.text("verifier").endswith("the last word\n")
    assert [phase.name for phase in run.phases if phase.name != "agent setup"] == phases
    printed = (Path(run.trial_dir) / "verifier/test-stdout.txt").read_text()
    assert run.text("verifier") == printed


async def test_the_trial_directory_is_an_ordinary_one_outside_the_task(engine: Engine, slugify: Path) -> None:
    before = sorted(slugify.rglob("*"))
    view = await engine.open(slugify)
    run = view.cases["hard-coded"].decided
    assert run is not None
    names = {path.name for path in Path(run.trial_dir).iterdir()}
    assert names >= {"config.json", "lock.json", "result.json", "trial.log", "agent", "verifier"}
    assert sorted(slugify.rglob("*")) == before


async def test_a_save_that_breaks_the_tests_turns_the_verdict_and_restoring_them_turns_it_back(
    engine: Engine, slugify: Path
) -> None:
    view = await engine.open(slugify)
    test = slugify / "tests/test.sh"
    rewrite(test, "reward=0", "reward=1")
    await engine.until(lambda: view.verdict and view.verdict.kind == "cannot fail")
    await engine.until(lambda: view.settled)
    assert view.verdict is not None
    assert view.verdict.cases == ("nop", *NEGATIVES)
    assert view.changed is not None
    assert view.changed.why == "tests/test.sh changed"
    rewrite(test, "reward=1\n", "reward=0\n")
    await engine.until(lambda: view.verdict and view.verdict.kind == "holds" and view.settled)


async def test_a_save_replays_only_what_it_affects(engine: Engine, slugify: Path) -> None:
    view = await engine.open(slugify)
    before = engine.runs(view)
    rewrite(slugify / "negatives/hard-coded/solve.sh", "#!/bin/bash", "#!/bin/bash\n# again")
    await engine.until(lambda: view.changed and view.settled and engine.runs(view) != before)
    assert engine.runs(view) == before | {"hard-coded": 2}


async def test_a_save_of_the_readme_replays_nothing(engine: Engine, slugify: Path) -> None:
    view = await engine.open(slugify)
    before = engine.runs(view)
    since = len(engine.events)
    (slugify / "README.md").write_text("changed\n")
    await engine.until(lambda: engine.said(ev.FilesChanged, since) and engine.said(ev.Settled, since))
    assert engine.runs(view) == before


async def test_a_burst_of_saves_gives_one_replay(engine: Engine, slugify: Path) -> None:
    view = await engine.open(slugify)
    before = engine.runs(view)
    for number in range(20):
        rewrite(slugify / "solution/solve.sh", "#!/bin/bash", f"#!/bin/bash\n# {number}")
    await engine.until(lambda: view.settled and engine.runs(view) != before)
    # A slow host may take it for two bursts, the first of whose runs is then cancelled.
    decided = [run for run in view.cases["oracle"].runs if run.outcome and run.outcome.kind != "cancelled"]
    assert len(decided) == 2


async def test_while_paused_saves_are_noted_and_resuming_replays_them(engine: Engine, slugify: Path) -> None:
    view = await engine.open(slugify)
    before = engine.runs(view)
    await engine.link.send(wishes.SetWatching(task=str(slugify), watching=False))
    await engine.until(lambda: not view.watching)
    rewrite(slugify / "solution/solve.sh", "#!/bin/bash", "#!/bin/bash\n# again")
    await engine.until(lambda: view.cases["oracle"].stale)
    assert view.cases["oracle"].stale == "solution/solve.sh changed"
    assert engine.runs(view) == before
    await engine.link.send(wishes.SetWatching(task=str(slugify), watching=True))
    await engine.until(lambda: view.settled and engine.runs(view) == before | {"oracle": 2})
    assert not view.cases["oracle"].stale


async def test_runs_that_run_and_runs_that_wait_are_cancelled(engine: Engine, slugify: Path) -> None:
    test = slugify / "tests/test.sh"
    test.write_text("#!/bin/bash\necho waiting\nsleep 600\n")
    await engine.link.send(wishes.OpenTask(task=str(slugify)))
    view = engine.session.task(str(slugify))
    await engine.until(lambda: any("waiting" in run.text("verifier") for run in engine.session.runs.values()))
    await engine.link.send(wishes.Cancel(task=str(slugify)))
    await engine.until(lambda: view.settled)
    kinds = {run.outcome.kind for run in engine.session.runs.values() if run.outcome}
    assert kinds == {"cancelled"}
    assert len(engine.session.runs) == 6
    assert view.verdict is not None
    assert view.verdict.kind == "unproven"


async def test_a_task_toml_that_is_half_written_is_reported_and_survived(
    engine: Engine, slugify: Path
) -> None:
    view = await engine.open(slugify)
    config = slugify / "task.toml"
    text = config.read_text()
    config.write_text(text.replace("[agent]", "[agent"))
    await engine.until(lambda: view.unreadable)
    assert any(problem.path == "task.toml" and problem.line for problem in view.problems)
    assert view.cases["oracle"].decided is not None
    since = len(engine.events)
    config.write_text(text)
    await engine.until(lambda: not view.unreadable and engine.said(ev.Settled, since))


@pytest.mark.parametrize("pausing", [False, True])
async def test_a_task_that_cannot_be_read_when_it_is_opened_is_begun_with_once_it_can(
    engine: Engine, slugify: Path, pausing: bool
) -> None:
    (slugify / "negatives/empty").mkdir()
    view = await engine.open(slugify)
    assert view.unreadable
    assert view.problems
    if pausing:
        await engine.link.send(wishes.SetWatching(task=str(slugify), watching=False))
        await engine.until(lambda: not view.watching)
    (slugify / "negatives/empty").rmdir()
    await engine.until(lambda: view.cases and not view.problems)
    if pausing:
        await engine.link.send(wishes.SetWatching(task=str(slugify), watching=True))
    await engine.until(lambda: view.settled and view.verdict and view.verdict.kind == "holds")
    assert set(engine.runs(view).values()) == {1}
    assert view.changed is not None
    assert view.changed.why == "the task can be read now"


async def test_a_task_directory_that_vanishes_is_reported_and_picked_up_again(
    engine: Engine, slugify: Path
) -> None:
    view = await engine.open(slugify)
    aside = slugify.with_name("aside")
    slugify.rename(aside)
    await engine.until(lambda: view.unreadable)
    assert "does not exist" in view.unreadable
    aside.rename(slugify)
    await engine.until(lambda: not view.unreadable)


async def test_a_case_that_does_not_come_out_the_same_is_flaky(engine: Engine, slugify: Path) -> None:
    (slugify / "tests/test.sh").write_text(
        "#!/bin/bash\n[ -e /app/slugify.py ] && echo 1 > /logs/verifier/reward.txt && exit\n"
        "echo 0.$((RANDOM % 10))$((RANDOM % 10))$((RANDOM % 10)) > /logs/verifier/reward.txt\n"
    )
    for negative in (slugify / "negatives").iterdir():
        negative.rename(slugify / f"was-{negative.name}")
    view = await engine.open(slugify, watch=False)
    for _ in range(8):
        runs = engine.runs(view)["nop"]
        await engine.link.send(wishes.Replay(task=str(slugify), cases=("nop",)))
        await engine.until(lambda runs=runs: engine.runs(view)["nop"] > runs and view.settled)  # type: ignore[misc]
    assert view.verdict is not None
    assert (view.verdict.kind, view.verdict.cases) == ("flaky", ("nop",))


async def test_a_harness_that_cannot_fail_is_told_with_the_case_that_passed(engine: Engine) -> None:
    view = await engine.open(SAMPLES / "cannot-fail", watch=False)
    assert view.verdict is not None
    assert view.verdict.kind == "cannot fail"
    assert view.verdict.cases[0] in view.cases


async def test_a_broken_oracle_is_told_with_its_scripts_last_lines(engine: Engine) -> None:
    view = await engine.open(SAMPLES / "broken-oracle", watch=False)
    assert view.verdict is not None
    assert view.verdict.kind == "broken"
    said = outcome(view.cases["oracle"])
    assert said.agent_exit_code
    assert any("solve.sh" in line for line in said.detail)


async def test_the_other_samples_hold(engine: Engine) -> None:
    for name in ("multi-step", "separate-verifier", "several-rewards"):
        view = await engine.open(SAMPLES / name, watch=False)
        assert view.verdict is not None
        assert (name, view.verdict.kind, view.verdict.reason) == (name, "holds", view.verdict.reason)


async def test_a_wish_that_makes_no_sense_is_answered_with_a_notice(engine: Engine, slugify: Path) -> None:
    await engine.link.send(wishes.Replay(task="/nowhere"))
    await engine.until(lambda: engine.said(ev.Notice))
    assert engine.said(ev.Notice)[0].message == "this task is not open"
    view = await engine.open(slugify, replay=False, watch=False)
    await engine.link.send(wishes.Replay(task=str(slugify), cases=("orcale",)))
    await engine.until(lambda: len(engine.said(ev.Notice)) > 1)
    assert "there is no case 'orcale'" in engine.said(ev.Notice)[1].message
    assert engine.runs(view) == dict.fromkeys(view.cases, 0)


async def test_an_engine_whose_face_is_gone_ends(engine: Engine, slugify: Path) -> None:
    await engine.open(slugify)
    await engine.link.send(wishes.Stop())
    await engine.ended()
    assert isinstance(engine.events[-1], ev.EngineStopped)
