"""Receipts in the place of runs."""

from __future__ import annotations

from pathlib import Path

from tests.check.tasks import write_task
from tests.engine.conftest import Engine
from tests.engine.test_loop import rewrite
from workbench import events as ev
from workbench import wishes
from workbench.link import EngineLink, EngineOptions


async def test_what_was_only_verified_again_stands_in_for_no_whole_trial(tmp_path: Path) -> None:
    task = write_task(tmp_path / "task")
    options = EngineOptions(provider="bubblewrap", state_dir=tmp_path / "state", confirm="never")
    async with EngineLink(options) as link:
        engine = Engine(link)
        view = await engine.open(task)
        since = len(engine.events)
        rewrite(task / "tests/test.sh", "# here", "echo again")
        await engine.until(lambda: engine.said(ev.FilesChanged, since) and engine.said(ev.Settled, since))
        assert {event.outcome.whole for event in engine.said(ev.RunEnded, since)} == {False}
    async with EngineLink(options) as link:
        engine = Engine(link)
        await link.send(wishes.OpenTask(task=str(task), watch=False, cached=True))
        view = engine.session.task(str(task))
        await engine.until(lambda: view.settled)
        assert engine.said(ev.RunRecalled) == []
        assert [event.outcome.whole for event in engine.said(ev.RunEnded)] == [True, True, True]


async def test_a_task_that_is_opened_paused_shows_its_proof_and_runs_nothing(tmp_path: Path) -> None:
    task = write_task(tmp_path / "task")
    options = EngineOptions(provider="bubblewrap", state_dir=tmp_path / "state", confirm="never")
    async with EngineLink(options) as link:
        held = (await Engine(link).open(task)).verdict
    async with EngineLink(options) as link:
        engine = Engine(link)
        await link.send(wishes.OpenTask(task=str(task), watch=False, replay=False, cached=True))
        view = engine.session.task(str(task))
        await engine.until(lambda: view.settled)
        assert view.verdict == held
        assert {event.case for event in engine.said(ev.RunRecalled)} == set(view.cases)
        assert engine.said(ev.RunQueued) == []


async def test_what_is_new_since_a_task_was_left_runs_before_what_is_known_is_confirmed(
    tmp_path: Path,
) -> None:
    task = write_task(tmp_path / "task")
    options = EngineOptions(provider="bubblewrap", state_dir=tmp_path / "state", concurrency=1)
    async with EngineLink(options) as link:
        await Engine(link).open(task)
    (task / "negatives" / "nothing.sh").write_text("#!/bin/bash\n")
    async with EngineLink(options) as link:
        engine = Engine(link)
        view = await engine.open(task)
        assert {event.case for event in engine.said(ev.RunRecalled)} == {"oracle", "nop", "elsewhere"}
        assert [event.case for event in engine.said(ev.RunStarted)] == [
            *("nothing", "oracle", "nop", "elsewhere"),
        ]
        assert {run.state for case in view.cases.values() for run in case.runs} == {"ended"}
        assert view.verdict is not None
        assert (view.verdict.kind, view.verdict.total) == ("holds", 4)
