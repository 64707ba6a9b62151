"""`workbench runs --stats` over a history, and what pruning says of receipts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.proof.made import receipt
from tests.runs.test_runs import passed, runs, trial
from workbench import places
from workbench.proof.database import Database
from workbench.proof.history import History, RunKind
from workbench.proof.receipts import Receipts
from workbench.trials.outcome import Outcome, Phase


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    path = tmp_path / "state" / "workbench"
    path.mkdir(parents=True)
    return path


def record(state: Path, task: Path, seconds: list[float], *, met: bool = True, whole: bool = True) -> None:
    database = Database.open(places.records_file(state))
    kind = RunKind(task=str(task), case="nop", provider="bubblewrap", machine="here", whole=whole)
    for number, took in enumerate(seconds):
        phases = (Phase("environment", 0.0, 1.0), Phase("verifier", 1.0, 1.0 + took))
        History(database).record(kind, Outcome("failed", "", met=met, phases=phases), at=2e9 + number)
    database.close()


def test_without_a_history_it_says_so(state: Path) -> None:
    assert runs("--stats").stdout == "no run has ended yet\n"
    assert runs("--stats", "--json").stdout == "[]\n"


def test_median_and_p95_stand_by_case_and_phase_with_other_runs_apart(state: Path, tmp_path: Path) -> None:
    record(state, tmp_path / "a", [float(n) for n in range(1, 22)])
    record(state, tmp_path / "a", [100.0], met=False)
    record(state, tmp_path / "a", [0.5, 0.7], whole=False)
    record(state, tmp_path / "b", [3.0])
    lines = runs("--stats", str(tmp_path / "a")).stdout.splitlines()
    assert [" ".join(line.split()) for line in lines] == [
        str(tmp_path / "a"),
        "case runs came out phase on count median p95",
        "nop whole as it must environment bubblewrap, here 21 1.00 s 1.00 s",
        "verifier 21 11.00 s 20.00 s",
        "nop whole otherwise environment bubblewrap, here 1 1.00 s 1.00 s",
        "verifier 1 100.00 s 100.00 s",
        "nop re-verified as it must environment bubblewrap, here 2 1.00 s 1.00 s",
        "verifier 2 0.60 s 0.69 s",
    ]
    every = json.loads(runs("--stats", "--json").stdout)
    assert [one["task"] for one in every] == [str(tmp_path / "a"), str(tmp_path / "b")]
    assert every[0]["phases"][1]["p95"] == 20.0
    assert every[1]["phases"][1]["median"] == 3.0


def test_pruning_says_which_receipts_outlive_their_trial(state: Path, tmp_path: Path) -> None:
    old = trial(state, tmp_path, "oracle__1", age=20, result=passed(1))
    new = trial(state, tmp_path, "oracle__2", age=10, result=passed(1))
    database = Database.open(places.records_file(state))
    Receipts(database).record(receipt("oracle", task=str(tmp_path), trial_dir=str(new)))
    database.close()
    assert runs(str(tmp_path), "--keep", "0").stdout.splitlines()[:2] == [
        f"removed {old}",
        f"removed {new}; the receipt of oracle stays",
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--json",), "--json goes with --stats"),
        (("--stats", "--keep", "1"), "--stats and --keep do not go together"),
    ],
)
def test_options_that_do_not_go_together_are_refused(state: Path, words: tuple[str, ...], said: str) -> None:
    done = runs(*words)
    assert done.returncode == 2
    assert said in done.stderr
