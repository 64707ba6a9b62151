"""Whose scripts leave a trajectory, and how that is changed."""

from __future__ import annotations

import json
from pathlib import Path

from tests.engine.conftest import Engine, outcome
from workbench import wishes
from workbench.link import EngineLink, EngineOptions
from workbench.session import TaskView

NEGATIVES = {"double-hyphens", "hard-coded", "keeps-unicode", "truncates-title"}


def newest(view: TaskView, case: str) -> Path:
    """The directory of a case's newest run."""
    run = view.cases[case].decided
    assert run is not None
    return Path(run.trial_dir)


def traced(view: TaskView) -> set[str]:
    """The cases whose newest run left a trajectory."""
    return {name for name in view.cases if (newest(view, name) / "agent/trajectory.json").exists()}


async def replay(engine: Engine, view: TaskView, *cases: str) -> None:
    runs = engine.runs(view)
    await engine.link.send(wishes.Replay(task=view.path, cases=cases))
    await engine.until(
        lambda: view.settled and all(engine.runs(view)[name] > runs[name] for name in cases or view.cases)
    )


async def test_negatives_leave_a_trajectory_and_the_oracle_when_asked_to(
    engine: Engine, slugify: Path
) -> None:
    view = await engine.open(slugify, watch=False)
    assert view.trace == "negatives"
    assert traced(view) == NEGATIVES
    await engine.link.send(wishes.SetTracing(task=view.path, trace="all"))
    await engine.until(lambda: view.trace == "all")
    await replay(engine, view)
    assert traced(view) == NEGATIVES | {"oracle"}
    assert outcome(view.cases["oracle"]).reward == 1.0
    result = json.loads((newest(view, "oracle") / "result.json").read_text())
    assert result["agent_info"] == {"name": "workbench-script", "version": "oracle", "model_info": None}
    assert view.verdict is not None
    assert view.verdict.kind == "holds"
    await engine.link.send(wishes.SetTracing(task=view.path, trace="none"))
    await engine.until(lambda: view.trace == "none")
    await replay(engine, view, "oracle", "hard-coded")
    assert traced(view) == NEGATIVES - {"hard-coded"}
    result = json.loads((newest(view, "oracle") / "result.json").read_text())
    assert result["agent_info"]["name"] == "oracle"


async def test_an_engine_is_told_at_its_start_what_to_trace(tmp_path: Path, slugify: Path) -> None:
    options = EngineOptions(provider="bubblewrap", trace="none", state_dir=tmp_path / "other")
    async with EngineLink(options) as link:
        view = await Engine(link).open(slugify, watch=False)
        assert view.trace == "none"
        assert traced(view) == set()


async def test_a_verification_of_a_kept_state_keeps_the_trajectory_of_its_run(
    engine: Engine, slugify: Path
) -> None:
    view = await engine.open(slugify)
    first = newest(view, "hard-coded")
    test = slugify / "tests/test.sh"
    test.write_text(test.read_text() + "\n# again\n")
    await engine.until(lambda: newest(view, "hard-coded") != first and view.settled)
    assert outcome(view.cases["hard-coded"]).whole is False
    assert (newest(view, "hard-coded") / "agent/trajectory.json").read_text() == (
        first / "agent/trajectory.json"
    ).read_text()
