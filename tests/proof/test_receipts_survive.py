"""Receipts with several workbenches at once, some of which are killed, and with many rows."""

from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from statistics import median

import msgspec
import pytest

from tests.proof.made import INPUTS, receipt
from tests.proof.receipts_writer import OUTCOME, run
from workbench.proof.database import Database
from workbench.proof.receipts import KEPT, Receipts
from workbench.trials.outcome import Outcome

ROOT = Path(__file__).parents[2]
TASK = "/tasks/slugify"
KILLS = 50
ENDLESS = 1_000_000


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "trials").mkdir()
    return tmp_path


def writer(place: Path, name: str, *numbers: int, database: str = "receipts.db") -> subprocess.Popen[str]:
    """A workbench in a process of its own; see `receipts_writer`."""
    arguments = [place / database, place / "trials", name, *numbers]
    return subprocess.Popen(
        [sys.executable, "-m", "tests.proof.receipts_writer", *map(str, arguments)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def assert_true(path: Path, acknowledged: set[str]) -> None:
    """That the next start finds every receipt that was acknowledged, and only such as tell what their
    trial came to."""
    database = Database.open(path, pytest.fail)
    found = Receipts(database).of_task(TASK)
    database.close()
    assert acknowledged <= found.keys()
    for case, one in found.items():
        outcome = Path(one.trial_dir) / OUTCOME
        assert one == receipt(
            case,
            outcome=msgspec.json.decode(outcome.read_bytes(), type=Outcome),
            trial_dir=str(outcome.parent),
        )
    with closing(sqlite3.connect(path)) as raw:
        assert raw.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert raw.execute("SELECT count(*) FROM receipts").fetchone() == (len(found),)


def test_a_workbench_killed_at_any_moment_leaves_only_true_receipts(place: Path) -> None:
    path = place / "receipts.db"
    database = Database.open(path, pytest.fail)
    bystander = Receipts(database)
    acknowledged: set[str] = set()
    for kill in range(KILLS):
        victim = writer(place, f"victim{kill}", ENDLESS)
        assert victim.stdout is not None
        seen = [victim.stdout.readline() for _ in range(random.randrange(8))]
        # Not to wait for anything: to strike at any moment of the next run.
        time.sleep(random.uniform(0, 0.003))
        victim.kill()
        run(bystander, place / "trials", f"bystander{kill}", reward=1)
        acknowledged |= {f"bystander{kill}", *"".join([*seen, victim.communicate()[0]]).split()}
        assert_true(path, acknowledged)
    database.close()
    assert len(acknowledged) > 2 * KILLS, "the victims were killed before they wrote anything"


def test_a_workbench_killed_at_any_instruction_leaves_only_true_receipts(place: Path) -> None:
    instructions = int(writer(place, "first", 3, database="other.db").communicate()[1])
    acknowledged: set[str] = set()
    died = 0
    for kill in range(KILLS // 2):
        database = f"receipts{kill // 5}.db"
        if kill % 5 == 0:
            acknowledged = set()
        victim = writer(place, f"victim{kill}", 3, random.randrange(instructions), database=database)
        acknowledged |= set(victim.communicate()[0].split())
        died += victim.returncode < 0
        assert_true(place / database, acknowledged)
    assert died > KILLS / 8, "few died: those that opened an old database had less to do"


def test_workbenches_that_begin_at_once_lose_nothing_of_each_other(place: Path) -> None:
    writers = [writer(place, f"writer{number}", 50) for number in range(3)]
    said = [one.communicate() for one in writers]
    assert [one.returncode for one in writers] == [0, 0, 0], said
    acknowledged = {case for out, _ in said for case in out.split()}
    assert len(acknowledged) == 150
    assert_true(place / "receipts.db", acknowledged)


def test_a_tasks_proof_is_there_within_ten_milliseconds_among_ten_thousand_rows(tmp_path: Path) -> None:
    path = tmp_path / "receipts.db"
    database = Database.open(path, pytest.fail)
    receipts = Receipts(database)
    for task in range(10):
        for number in range(20 * KEPT):
            receipts.record(receipt(f"case-{number % 20}", task=f"/tasks/{task}", at=number))
    database.close()

    def opening() -> float:
        start = time.perf_counter()
        again = Database.open(path, pytest.fail)
        found = Receipts(again)
        assert len(found.of_task("/tasks/3")) == 20
        for number in range(20):
            assert found.find(f"case-{number}", INPUTS) is not None
        seconds = time.perf_counter() - start
        again.close()
        return seconds

    assert median(opening() for _ in range(9)) < 0.010
