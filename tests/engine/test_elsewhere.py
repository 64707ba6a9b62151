"""Trials that `harbor run` made, shown as an engine's."""

from __future__ import annotations

import errno
import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.check.tasks import write_task
from workbench import events as ev
from workbench import places, wishes
from workbench.check.targets import has_trials
from workbench.engine.elsewhere import tell
from workbench.link import EngineLink, EngineOptions
from workbench.proof.database import Database
from workbench.proof.documents import Inputs
from workbench.proof.receipts import Receipt, Receipts
from workbench.session import RUNS_KEPT, CaseView, Session
from workbench.trials.found import UNENDED
from workbench.trials.outcome import Outcome
from workbench.ui.trial_files import printed

ENVIRONMENT = "workbench.trials.bubblewrap:BubblewrapEnvironment"
ROOT = Path(__file__).parents[2]


def harbor_run(task: Path, jobs: Path, *agent: str) -> None:
    words = ("run", *agent, "--path", task, "--env", ENVIRONMENT, "--jobs-dir", jobs, "--quiet", "--yes")
    done = subprocess.run(
        [Path(sys.executable).with_name("harbor"), *map(str, words)],
        env=os.environ | {"HARBOR_TELEMETRY": "off", "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with three jobs of one task: the oracle twice, nop, and an agent with a model."""
    made = tmp_path_factory.mktemp("made")
    task = write_task(made / "task")
    harbor_run(task, made / "jobs", "--agent", "oracle", "-k", "2")
    harbor_run(task, made / "jobs", "--agent", "nop")
    harbor_run(task, made / "jobs", "--agent", "tests.agents:Toucher", "--model", "tiny/one")
    return made / "jobs"


async def shown(directory: Path, tmp_path: Path, *more: wishes.Wish) -> Session:
    session = Session()
    async with EngineLink(EngineOptions(state_dir=tmp_path / "state").showing(directory)) as link:
        for wish in (wishes.OpenTask(task=str(directory)), *more, wishes.Stop()):
            await link.send(wish)
        async for event in link.events():
            session.apply(event)
    assert session.stopped
    assert not session.failed
    return session


def came_to(case: CaseView) -> list[tuple[str, float | None, bool | None]]:
    return [(run.outcome.kind, run.outcome.reward, run.outcome.met) for run in case.runs if run.outcome]


async def test_every_trial_is_a_run_of_its_agent_s_case(jobs: Path, tmp_path: Path) -> None:
    session = await shown(jobs, tmp_path)
    view = session.task(str(jobs))
    assert {name: came_to(case) for name, case in view.cases.items()} == {
        "oracle": [("passed", 1.0, True)] * 2,
        "nop": [("failed", 0.0, True)],
        "toucher tiny/one": [("passed", 1.0, None)],
    }
    assert list(view.cases) == ["oracle", "nop", "toucher tiny/one"]
    assert view.opened is not None
    assert (view.name, view.opened.image) == ("tests/plain", "4 trials")
    assert view.verdict is not None
    assert (view.verdict.kind, view.verdict.total) == ("holds", 2)
    for run in session.runs.values():
        assert (Path(run.trial_dir) / "result.json").is_file()
        assert [phase.name for phase in run.phases][::3] == ["environment", "transfer"]
        assert (run.recalled, run.ended_at) == (True, run.phases[-1].ended_at)


async def test_a_job_and_a_single_trial_open_too(jobs: Path, tmp_path: Path) -> None:
    trial = next(path.parent for path in jobs.glob("*/*/trial.log"))
    for directory, count in ((trial.parent, len(list(trial.parent.glob("*/trial.log")))), (trial, 1)):
        assert has_trials(directory)
        session = await shown(directory, tmp_path)
        assert len(session.runs) == count


async def test_trials_of_several_tasks_are_told_apart_and_sorted(jobs: Path, tmp_path: Path) -> None:
    copied = Path(shutil.copytree(jobs, tmp_path / "jobs"))
    for result in list(copied.glob("*/*/result.json")):
        told = json.loads(result.read_text()) | {"task_name": "tests/another"}
        other = result.parent.with_name(f"{result.parent.name}-other")
        shutil.copytree(result.parent, other)
        (other / "result.json").write_text(json.dumps(told))
    view = (await shown(copied, tmp_path)).task(str(copied))
    assert list(view.cases) == [
        f"tests/{task} · {agent}"
        for task in ("another", "plain")
        for agent in ("oracle", "nop", "toucher tiny/one")
    ]
    assert (view.name, view.opened.image if view.opened else "") == ("jobs", "8 trials of 2 tasks")


async def test_what_cannot_be_read_is_said_and_the_rest_is_shown(jobs: Path, tmp_path: Path) -> None:
    copied = Path(shutil.copytree(jobs, tmp_path / "jobs"))
    first, second, *_ = sorted(copied.glob("*/*/result.json"))
    first.write_text('{"task_name": 3}')
    second.unlink()
    (second.parent / "config.json").write_text('{"trial_name": 3}')
    session = await shown(copied, tmp_path)
    assert len(session.runs) == 2
    unreadable, unended, without_result = [notice.message for notice in session.notices]
    assert unreadable.startswith(f"{first}: cannot be read: ")
    assert unended.startswith(f"{second.parent / 'config.json'}: cannot be read: ")
    assert without_result == f"1 trial has no result: {second.parent.name}"


async def test_a_trial_that_was_cut_off_is_shown_among_those_of_its_agent(jobs: Path, tmp_path: Path) -> None:
    copied = Path(shutil.copytree(jobs, tmp_path / "jobs"))
    results = sorted(copied.glob("*/*/result.json"))
    of_oracle = [
        result for result in results if json.loads(result.read_text())["agent_info"]["name"] == "oracle"
    ]
    of_oracle[0].unlink()
    (of_oracle[0].parent / "verifier/test-stdout.txt").write_text("half\n")
    session = await shown(copied, tmp_path)
    assert [notice.message for notice in session.notices] == [
        f"1 trial has no result: {of_oracle[0].parent.name}"
    ]
    view = session.task(str(copied))
    assert list(view.cases) == ["oracle", "nop", "toucher tiny/one"]
    cut_off = session.runs[str(of_oracle[0].parent)]
    assert cut_off in view.cases["oracle"].runs
    assert cut_off.outcome == Outcome(kind="cancelled", reason=UNENDED)
    assert printed(cut_off, "verifier") == "half\n"
    assert view.verdict
    assert view.verdict.kind == "holds"


async def test_a_job_of_which_nothing_ended_is_named_by_its_configuration(jobs: Path, tmp_path: Path) -> None:
    copied = Path(shutil.copytree(jobs, tmp_path / "jobs"))
    for result in copied.glob("*/*/result.json"):
        result.unlink()
    view = (await shown(copied, tmp_path)).task(str(copied))
    assert (view.name, list(view.cases)) == ("task", ["oracle", "nop", "tests.agents:Toucher one"])
    assert view.verdict
    assert view.verdict.reason == "oracle has not run"


def test_a_trial_whose_log_was_left_out_is_one_all_the_same(jobs: Path, tmp_path: Path) -> None:
    copied = Path(shutil.copytree(jobs, tmp_path / "jobs", ignore=shutil.ignore_patterns("*.log")))
    assert has_trials(copied)
    assert sum(isinstance(event, ev.RunRecalled) for event in tell(copied, 1.0)) == 4


def test_one_trial_that_nobody_could_have_made_keeps_no_other_from_being_shown(
    jobs: Path, tmp_path: Path
) -> None:
    copied = Path(shutil.copytree(jobs, tmp_path / "jobs"))
    first, second, third, _ = sorted(copied.glob("*/*/result.json"))
    for result, key, value in (
        (first, "verifier_result", {"rewards": {"reward": 10**400}}),
        (second, "verifier_result", {"rewards": {"reward": math.nan, "parts": -math.inf}}),
        (third, "finished_at", "2026-01-01T00:00:00"),
    ):
        result.write_text(json.dumps(json.loads(result.read_text()) | {key: value}))
    events = [ev.decode(ev.encode(event)) for event in tell(copied, 1.0)]
    rewards = {event.run: event.outcome.rewards for event in events if isinstance(event, ev.RunRecalled)}
    assert rewards.pop(str(first.parent)) == {"reward": sys.float_info.max}
    assert rewards.pop(str(second.parent)) == {"parts": -sys.float_info.max}
    assert len(rewards) == 1
    (notice,) = [event.message for event in events if isinstance(event, ev.Notice)]
    assert notice.startswith(f"{third}: cannot be read: can't compare offset-naive")


def test_a_trial_that_may_not_be_looked_into_is_said_to_be_unreadable(
    jobs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs, *_ = sorted(path.parent for path in jobs.glob("*/*/result.json"))
    stat = Path.stat

    def refused(path: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        if path.parent == theirs:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return stat(path, follow_symlinks=follow_symlinks)

    def refused_bytes(path: Path) -> bytes:
        with path.open("rb") as file:
            refused(path)
            return file.read()

    monkeypatch.setattr(Path, "stat", refused)
    monkeypatch.setattr(Path, "read_bytes", refused_bytes)
    events = list(tell(jobs, 1.0))
    (notice,) = [event.message for event in events if isinstance(event, ev.Notice)]
    assert notice == f"{theirs / 'result.json'}: cannot be read: Permission denied"
    assert sum(isinstance(event, ev.RunRecalled) for event in events) == 3


async def test_a_large_job_is_shown_whole(jobs: Path, tmp_path: Path) -> None:
    trial = next(path.parent for path in jobs.glob("*/*/trial.log"))
    many = RUNS_KEPT + 50
    for number in range(many):
        shutil.copytree(trial, tmp_path / "job" / f"t{number}")
    session = await shown(tmp_path / "job", tmp_path)
    assert len(session.runs) == many


async def test_nothing_runs_there_and_it_says_so(jobs: Path, tmp_path: Path) -> None:
    task = str(jobs)
    asked: list[wishes.Wish] = [
        wishes.Replay(task=task),
        wishes.Repeat(task=task, case="oracle", times=16),
        wishes.SetTracing(task=task, trace="all"),
        wishes.Cancel(task=task),
        wishes.AskRegistries(task=task),
    ]
    session = await shown(jobs, tmp_path, *asked)
    assert [notice.message for notice in session.notices] == [
        "these trials were made elsewhere: nothing runs here; open the task itself for that"
    ] * len(asked)


async def test_runs_of_tasks_here_are_told_to_compare_with(jobs: Path, tmp_path: Path) -> None:
    file = places.records_file(tmp_path / "state")
    file.parent.mkdir(parents=True)
    inputs = Inputs(
        agent_key="a",
        verdict_key="v",
        harbor="1",
        provider="bubblewrap",
        provider_version="1",
        workbench="1",
        platform="linux",
        threshold=1.0,
    )
    kept = tmp_path / "kept"
    kept.mkdir()
    outcome = Outcome(kind="failed", reason="reward 0.0", reward=0.0, met=True)
    database = Database.open(file, print)
    Receipts(database).record(
        Receipt(
            task="/tasks/one",
            task_digest="d",
            case="nop",
            expect="fail",
            inputs=inputs,
            image="image",
            machine="here",
            at=1.0,
            outcome=outcome,
            trial_dir=str(kept),
        )
    )
    database.close()
    session = await shown(jobs, tmp_path, wishes.TellEarlierRuns(task=str(jobs)))
    (run,) = session.task(str(jobs)).earlier
    assert (run.task, run.case, run.trial_dir, run.outcome) == ("/tasks/one", "nop", str(kept), outcome)


async def test_agents_that_had_to_do_nothing_prove_nothing(jobs: Path, tmp_path: Path) -> None:
    [trial] = [path.parent for path in jobs.glob("*/*/trial.log") if _agent(path.parent) == "toucher"]
    view = (await shown(trial, tmp_path)).task(str(trial))
    assert view.verdict is not None
    assert view.verdict.reason == "1 of 1 trials passed; none of them had to"


def _agent(trial: Path) -> str:
    return str(json.loads((trial / "result.json").read_text())["agent_info"]["name"])


def test_a_task_or_any_other_directory_is_not_taken_for_trials(tmp_path: Path) -> None:
    task = write_task(tmp_path / "tasks" / "one")
    assert not has_trials(tmp_path / "tasks")
    (task / "trial.log").touch()
    assert not has_trials(task)
    assert not has_trials(tmp_path / "absent")


def test_the_stream_is_events(jobs: Path) -> None:
    command = [sys.executable, "-m", "workbench.engine.elsewhere", str(jobs), "--threshold", "0", "-n", "3"]
    done = subprocess.run(
        command, input=wishes.encode(wishes.OpenTask(task=str(jobs))), capture_output=True, check=True
    )
    events = [ev.decode(line) for line in done.stdout.splitlines()]
    recalled = [event.outcome.kind for event in events if isinstance(event, ev.RunRecalled)]
    assert recalled == ["passed", "passed", "passed", "passed"]
