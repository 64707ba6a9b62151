"""Real agents as cases: they inform, and run only when somebody asks for it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.check.tasks import write_task
from tests.engine.conftest import Engine
from tests.engine.test_loop import rewrite
from workbench import events as ev
from workbench import wishes
from workbench.cases.case import AgentSpec
from workbench.link import EngineLink, EngineOptions
from workbench.session import TaskView

TOUCHER = AgentSpec("tests.agents:Toucher", "tiny/one")
CASE = "Toucher tiny/one"


@pytest.fixture
def task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    return write_task(tmp_path / "task")


@pytest.fixture
async def quick(tmp_path: Path) -> AsyncIterator[Engine]:
    """An engine that confirms soon after the last save."""
    options = EngineOptions(provider="bubblewrap", state_dir=tmp_path / "state", idle=0.1)
    async with EngineLink(options) as link:
        yield Engine(link)


async def opened(engine: Engine, task: Path, *agents: AgentSpec) -> TaskView:
    await engine.link.send(wishes.OpenTask(task=str(task), agents=agents))
    view = engine.session.task(str(task))
    await engine.until(lambda: view.settled)
    return view


async def saved(engine: Engine, view: TaskView, path: str, old: str, new: str) -> list[ev.RunStarted]:
    """Save a file; the runs of the agent that this starts."""
    since = len(engine.events)

    def taken_in() -> bool:
        """Settled again since this file changed; a batch of other files may come before it."""
        changes = (
            number
            for number, event in enumerate(engine.events)
            if number >= since and isinstance(event, ev.FilesChanged) and path in event.paths
        )
        changed = next(changes, None)
        return changed is not None and bool(engine.said(ev.Settled, changed)) and view.settled

    rewrite(Path(view.path) / path, old, new)
    await engine.until(taken_in)
    return [event for event in engine.said(ev.RunStarted, since) if event.case == CASE]


async def test_an_agent_is_tried_and_decides_nothing(quick: Engine, task: Path) -> None:
    view = await opened(quick, task, TOUCHER)
    case = view.cases[CASE]
    assert (case.case.kind, case.case.expect, case.case.spec) == ("agent", None, TOUCHER)
    run = case.decided
    assert run is not None
    assert run.outcome is not None
    assert (run.outcome.kind, run.outcome.reward, run.outcome.met) == ("passed", 1.0, None)
    assert view.verdict is not None
    assert (view.verdict.kind, view.verdict.total) == ("holds", 3)
    assert list(view.cases) == ["oracle", "nop", "elsewhere", CASE]


async def test_a_save_verifies_again_what_it_left_but_never_runs_it_again(quick: Engine, task: Path) -> None:
    view = await opened(quick, task, TOUCHER)
    again = await saved(quick, view, "tests/test.sh", "# here", "echo again")
    assert [run.whole for run in again] == [False]
    run = view.cases[CASE].decided
    assert run is not None
    assert run.text("verifier") == "again\n"
    # Whole trials confirm the others.
    await quick.until(lambda: all(_whole(view, name) for name in ("oracle", "nop", "elsewhere")))
    assert not _whole(view, CASE)

    assert await saved(quick, view, "instruction.md", "Write", "Please write") == []
    assert view.cases[CASE].stale == "instruction.md changed"
    since = len(quick.events)
    await quick.link.send(wishes.Replay(task=str(task), cases=(CASE,)))
    await quick.until(lambda: quick.said(ev.RunEnded, since))
    assert view.cases[CASE].stale == ""


async def test_opened_again_its_receipt_is_shown_and_it_does_not_run(task: Path, tmp_path: Path) -> None:
    options = EngineOptions(provider="bubblewrap", state_dir=tmp_path / "state")
    async with EngineLink(options) as link:
        await opened(Engine(link), task, TOUCHER)
    async with EngineLink(options) as link:
        engine = Engine(link)
        view = await opened(engine, task, TOUCHER)
        assert [run.recalled for run in view.cases[CASE].runs] == [True]
        other = AgentSpec(TOUCHER.agent, "tiny/two")
        await link.send(wishes.OpenTask(task=str(task), agents=(other,)))
        await engine.until(lambda: [event.case for event in engine.said(ev.RunEnded)][-1:] == [other.case])
        assert [run.recalled for run in view.cases[other.case].runs] == [False]


async def test_an_agent_that_is_not_there_is_said_with_the_nearest_name(quick: Engine, task: Path) -> None:
    view = await opened(quick, task, AgentSpec("claud-code"), AgentSpec("zzz"))
    assert [notice.message for notice in quick.session.notices] == [
        "Harbor has no agent 'claud-code'; did you mean claude-code?",
        "Harbor has no agent 'zzz'; for one of your own, give an import path, module:Class",
    ]
    assert list(view.cases) == ["oracle", "nop", "elsewhere"]


def check(task: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "workbench", "check", "--provider", "bubblewrap", str(task), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_check_takes_agents_too(task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    done = check(task, "--agent", TOUCHER.agent, "--model", "tiny/one", "--case", "oracle")
    assert done.returncode == 0, done.stderr
    row = next(line for line in done.stdout.splitlines() if CASE in line)
    assert row.split()[:6] == ["·", "Toucher", "tiny/one", "-", "passed", "1"]
    assert "tests/plain: HOLDS  " in done.stdout
    done = check(task, "--agent", "claud-code", "--case", "oracle")
    assert done.returncode == 2
    assert "Harbor has no agent 'claud-code'; did you mean claude-code?" in done.stderr
    done = check(task, "--agent", "a:B", "--agent", "a:C", "--agent", "a:D", "--model", "x", "--model", "y")
    assert done.returncode == 2
    assert "2 models for 3 agents: give one for all, or one for each" in done.stderr


def _whole(view: TaskView, case: str) -> bool:
    run = view.cases[case].decided
    return bool(run and run.outcome and run.outcome.whole)
