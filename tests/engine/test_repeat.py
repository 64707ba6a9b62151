"""One case repeated: trials side by side, each with its memory, and what they come to together."""

from __future__ import annotations

from pathlib import Path

from tests.engine.conftest import Engine, side_by_side
from workbench import events as ev
from workbench import wishes


async def test_a_case_is_repeated_and_all_its_runs_show_under_it(engine: Engine, slugify: Path) -> None:
    view = await engine.open(slugify, watch=False, replay=False)
    await engine.link.send(wishes.Repeat(task=str(slugify), case="oracle", times=5))
    await engine.until(lambda: view.settled and len(view.cases["oracle"].runs) == 5)
    runs = view.cases["oracle"].runs
    assert [run.why for run in runs] == [f"repeated, {number} of 5" for number in range(1, 6)]
    assert [event.times for event in engine.said(ev.RunQueued)] == [5] * 5
    assert [run.outcome and run.outcome.reward for run in runs] == [1.0] * 5
    assert all(run.outcome and run.outcome.whole for run in runs)
    assert len({run.trial_dir for run in runs}) == 5
    assert engine.runs(view)["nop"] == 0
    assert side_by_side(engine.events) == 2


async def test_the_memory_of_a_trials_machine_is_told_while_it_runs(engine: Engine, slugify: Path) -> None:
    (slugify / "tests/test.sh").write_text("#!/bin/bash\nsleep 600\n")
    view = await engine.open(slugify, watch=False, replay=False)
    await engine.link.send(wishes.Repeat(task=str(slugify), case="nop", times=2))
    await engine.until(lambda: sum(run.memory_bytes > 0 for run in view.cases["nop"].runs) == 2)
    assert engine.session.costs is not None
    machines = engine.session.costs.machines
    assert {machine.run for machine in machines} == {run.id for run in view.cases["nop"].runs}
    assert {machine.stands_on for machine in machines} == {"a run of nop"}
    await engine.link.send(wishes.Cancel(task=str(slugify)))
    await engine.until(lambda: view.settled)


async def test_repeats_that_differ_make_the_case_flaky(engine: Engine, slugify: Path) -> None:
    (slugify / "tests/test.sh").write_text(
        "#!/bin/bash\n[ -e /app/slugify.py ] && echo 1 > /logs/verifier/reward.txt && exit\n"
        "echo 0.$((RANDOM % 10))$((RANDOM % 10))$((RANDOM % 10)) > /logs/verifier/reward.txt\n"
    )
    (slugify / "negatives").rename(slugify / "aside")
    view = await engine.open(slugify, watch=False)
    await engine.link.send(wishes.Repeat(task=str(slugify), case="nop", times=8))
    await engine.until(lambda: view.settled and len(view.cases["nop"].runs) == 9)
    assert view.verdict is not None
    assert (view.verdict.kind, view.verdict.cases[0]) == ("flaky", "nop")


async def test_what_cannot_be_repeated_is_said(engine: Engine, slugify: Path) -> None:
    view = await engine.open(slugify, watch=False, replay=False)
    await engine.link.send(wishes.Repeat(task=str(slugify), case="orcale", times=2))
    await engine.until(lambda: engine.said(ev.Notice))
    assert "there is no case 'orcale'" in engine.said(ev.Notice)[0].message
    assert not any(case.runs for case in view.cases.values())
