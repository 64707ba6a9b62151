"""`workbench runs`, as a user's own program over a state directory with trials in it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from workbench import places
from workbench.runs.kept import kept

NOW = time.time()


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "workbench"


def trial(
    state: Path, task: Path, name: str, *, age: float = 0.0, result: object = None, session: str = "one"
) -> Path:
    """A trial directory as Harbor leaves it, `age` seconds ago."""
    path = places.trials_dir(state, task) / session / name
    path.mkdir(parents=True)
    (path / "config.json").write_text(json.dumps({"trial_name": name, "task": {"path": str(task)}}))
    (path / "trial.log").write_text("x" * 1000)
    if result is not None:
        (path / "result.json").write_text(json.dumps(result))
    for file in path.iterdir():
        os.utime(file, (NOW - age, NOW - age))
    return path


def passed(reward: float) -> object:
    return {"verifier_result": {"rewards": {"reward": reward}}, "exception_info": None}


def runs(*args: str, wrapper: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    command = [*wrapper, sys.executable, "-m", "workbench", "runs", *args]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_it_says_where_runs_would_be_when_there_are_none(state: Path, tmp_path: Path) -> None:
    assert runs().stdout == f"no runs are kept in {state}\n"
    expected = f"no runs of {tmp_path} are kept; they would be in {places.trials_dir(state, tmp_path)}\n"
    assert runs(str(tmp_path)).stdout == expected


def test_every_task_is_listed_with_where_its_runs_are(state: Path, tmp_path: Path) -> None:
    for name in ("a", "b b"):
        trial(state, tmp_path / name, "oracle__1", result=passed(1))
    trial(state, tmp_path / "a", "nop__2")
    rows = runs().stdout.splitlines()
    assert rows[1].split()[:2] == [str(tmp_path / "a"), "2"]
    assert rows[1].rstrip().endswith(str(places.trials_dir(state, tmp_path / "a")))
    assert rows[2].startswith(str(tmp_path / "b b"))


def test_the_runs_of_a_task_are_listed_with_what_they_came_to(state: Path, tmp_path: Path) -> None:
    raised = {"verifier_result": None, "exception_info": {"exception_type": "AgentTimeoutError"}}
    both = {
        "verifier_result": {"rewards": {"reward": 0.5, "speed": 2}},
        "exception_info": {"exception_type": "AgentTimeoutError"},
    }
    trial(state, tmp_path, "oracle__1", age=50, result=passed(1.0))
    trial(state, tmp_path, "nop__2", age=40, result=raised)
    trial(state, tmp_path, "slow__3", age=30, result=both)
    trial(state, tmp_path, "my__case__4", age=20)
    trial(state, tmp_path, "old__5", age=90_000)
    lines = runs(str(tmp_path)).stdout.splitlines()
    directory = places.trials_dir(state, tmp_path)
    came_to = {line.split("  ")[0]: line for line in lines[1:6]}
    assert list(came_to) == ["old", "oracle", "nop", "slow", "my__case"]
    for case, word in {
        "old": "ended early",
        "oracle": " 1 ",
        "nop": "AgentTimeoutError",
        "slow": "0.5, speed 2 (AgentTimeoutError)",
        "my__case": "running",
    }.items():
        assert word in came_to[case]
    assert lines[6].endswith(f"in {directory}")
    assert lines[7] == f"harbor view --jobs {directory}"


def test_pruning_keeps_the_newest_of_each_case_and_what_still_runs(state: Path, tmp_path: Path) -> None:
    task = tmp_path / "task"
    old = [
        trial(state, task, f"oracle__{age}", age=age, result=passed(1), session=str(age)) for age in (9, 8)
    ]
    new = [trial(state, task, f"oracle__{age}", age=age, result=passed(1)) for age in (7, 6)]
    other = trial(state, task, "nop__1", age=50, result=passed(0))
    running = [trial(state, task, f"oracle__{age}", age=age) for age in (30, 20, 10)]
    dry = runs(str(task), "--keep", "2", "--dry-run")
    assert dry.stdout.splitlines()[:2] == [f"would remove {path}" for path in old]
    assert all(path.exists() for path in old)
    done = runs(str(task), "--keep", "2")
    assert done.returncode == 0
    assert done.stdout.splitlines()[:2] == [f"removed {path}" for path in old]
    assert done.stdout.splitlines()[2].startswith("2 runs, ")
    assert not any(path.parent.exists() for path in old)
    assert all(path.exists() for path in (*new, other, *running))


def test_pruning_without_a_task_prunes_all(state: Path, tmp_path: Path) -> None:
    paths = [trial(state, tmp_path / name, "oracle__1", result=passed(1)) for name in ("a", "b")]
    assert runs("--keep", "0").returncode == 0
    assert not any(path.exists() for path in paths)


def test_pruning_follows_no_link_out_of_a_trial(state: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").touch()
    path = trial(state, tmp_path, "oracle__1", result=passed(1))
    (path / "link").symlink_to(outside)
    (path.parent / "linked__2").symlink_to(outside)
    assert runs("--keep", "0").returncode == 0
    assert not path.exists()
    assert (outside / "precious").exists()
    assert (path.parent / "linked__2").is_symlink()


def test_a_result_that_cannot_be_read_is_no_result(state: Path, tmp_path: Path) -> None:
    path = trial(state, tmp_path, "oracle__1", result={"verifier_result": "?"})
    (path / "config.json").write_bytes(b"\xff")
    [task] = kept(state, tmp_path)
    assert [(one.ended, one.rewards) for one in task.trials] == [(False, {})]
    assert task.task == ""


@pytest.mark.skipif(
    os.geteuid() == 0 and not shutil.which("setpriv"), reason="root may do all, and setpriv is not there"
)
def test_directories_that_came_back_read_only_are_removed_too(state: Path, tmp_path: Path) -> None:
    path = trial(state, tmp_path, "oracle__1", result=passed(1))
    for name, mode in (("artifacts/app", 0o500), ("artifacts", 0o555), ("hidden", 0o000)):
        directory = path / name
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "file").touch()
        directory.chmod(mode)
    override = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")
    done = runs("--keep", "0", wrapper=override if os.geteuid() == 0 else ())
    assert done.returncode == 0, done.stdout
    assert not path.exists()
