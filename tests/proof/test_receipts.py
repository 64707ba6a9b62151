"""Receipts: what is kept, what is found again, and when it no longer counts."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from tests.proof.made import INPUTS, NOON, graded, receipt
from workbench.proof import database as database_module
from workbench.proof.database import KEPT_SECONDS, Database, DatabaseError
from workbench.proof.documents import Inputs
from workbench.proof.receipts import KEPT, Receipts, stale_why
from workbench.trials.outcome import Outcome

type Open = Callable[..., Receipts]

TASK = "/tasks/slugify"


@pytest.fixture
def said() -> list[str]:
    """What databases told of themselves."""
    return []


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "receipts.db"


@pytest.fixture
def opened(path: Path, said: list[str]) -> Iterator[Open]:
    """Opens the receipts at `path`, each time as another workbench would."""
    databases: list[Database] = []

    def open_one(busy_timeout: float = 5.0) -> Receipts:
        databases.append(Database.open(path, said.append, busy_timeout))
        return Receipts(databases[-1])

    yield open_one
    for one in databases:
        one.close()


def with_inputs(**more: object) -> Inputs:
    return msgspec.structs.replace(INPUTS, **more)


def test_a_receipt_is_found_again_by_another_workbench_as_it_was_written(opened: Open) -> None:
    written = receipt(outcome=graded(0.5, met=False, whole=False), at=NOON)
    opened().record(written)
    assert opened().find("oracle", INPUTS) == written
    assert written.whole is False


@pytest.mark.parametrize(
    "change",
    [
        {"agent_key": "agent-2"},
        {"verdict_key": "verdict-2"},
        {"harbor": "0.27.0"},
        {"provider": "smol"},
        {"provider_version": "0.12.0"},
        {"workbench": "0.2.0"},
        {"platform": "linux/aarch64"},
        {"threshold": 0.5},
    ],
    ids=lambda change: next(iter(change)),
)
def test_any_other_input_finds_nothing(opened: Open, change: dict[str, object]) -> None:
    receipts = opened()
    receipts.record(receipt())
    assert receipts.find("oracle", with_inputs(**change)) is None
    assert receipts.find("nop", INPUTS) is None


def test_inputs_that_come_back_find_their_receipt_again(opened: Open) -> None:
    receipts, edited = opened(), with_inputs(verdict_key="verdict-2")
    receipts.record(receipt(at=NOON))
    receipts.record(receipt(inputs=edited, at=NOON + 5, outcome=graded(0)))
    found = receipts.find("oracle", INPUTS)
    assert found is not None
    assert (found.at, found.outcome.reward) == (NOON, 1)
    assert receipts.of_task(TASK)["oracle"].at == NOON + 5


def test_a_task_that_moved_keeps_its_proof(opened: Open) -> None:
    receipts = opened()
    receipts.record(receipt(task="/elsewhere/slugify"))
    assert receipts.of_task(TASK) == {}
    found = receipts.find("oracle", INPUTS)
    assert found is not None
    assert found.task == "/elsewhere/slugify"


def test_repeats_of_the_same_inputs_come_oldest_first(opened: Open) -> None:
    receipts = opened()
    for number, reward in enumerate((1, 0, 1)):
        receipts.record(receipt(at=NOON + number, outcome=graded(reward)))
        receipts.record(receipt(at=NOON + number, inputs=with_inputs(provider="smol")))
    assert [one.outcome.reward for one in receipts.repeats("oracle", INPUTS)] == [1, 0, 1]


def test_only_a_graded_run_may_stand_in_for_another(opened: Open) -> None:
    kinds = {
        kind: receipt(outcome=Outcome(kind, "")).graded
        for kind in ("passed", "failed", "void", "error", "timeout", "killed")
    }
    assert [kind for kind, graded_ in kinds.items() if graded_] == ["passed", "failed"]


def test_a_cancelled_run_has_no_receipt(opened: Open) -> None:
    receipts = opened()
    with pytest.raises(ValueError, match="a cancelled run has no receipt"):
        receipts.record(receipt(outcome=Outcome("cancelled", "cancelled")))
    assert receipts.of_task(TASK) == {}


def test_a_receipt_outlives_its_trial_and_says_that_it_is_gone(opened: Open, tmp_path: Path) -> None:
    trial = tmp_path / "oracle__1"
    trial.mkdir()
    receipts = opened()
    receipts.record(receipt(trial_dir=str(trial)))
    found = receipts.find("oracle", INPUTS)
    assert found is not None
    assert not found.trial_gone
    trial.rmdir()
    assert found.trial_gone


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({}, ""),
        (
            {"agent_key": "a", "verdict_key": "v"},
            "the agent stage changed: image, settings, instruction or the case's own files",
        ),
        ({"verdict_key": "v"}, "the verdict stage changed: tests, verifier settings or the expectation"),
        ({"harbor": "0.27.0"}, "Harbor was 0.26.0, is 0.27.0"),
        ({"provider": "smol", "provider_version": "1.32.2"}, "provider was bubblewrap, is smol"),
        ({"provider_version": "0.12.0"}, "bubblewrap was 0.11.0, is 0.12.0"),
        (
            {"workbench": "0.2.0", "platform": "linux/aarch64", "threshold": 0.5},
            "workbench was 0.1.0, is 0.2.0; platform was linux/x86_64, is linux/aarch64; "
            "threshold was 1, is 0.5",
        ),
    ],
)
def test_a_stale_receipt_says_which_inputs_differ(change: dict[str, object], words: str) -> None:
    assert stale_why(receipt(), with_inputs(**change)) == words


def test_a_stale_receipt_says_what_changed_where_that_is_known() -> None:
    edited = with_inputs(verdict_key="verdict-2", harbor="0.27.0")
    words = stale_why(receipt(), edited, "tests/test.sh changed")
    assert words == "tests/test.sh changed; Harbor was 0.26.0, is 0.27.0"
    assert stale_why(receipt(), INPUTS, "README.md changed") == "", (
        "equal keys depend on nothing that changed"
    )


def test_what_the_newest_receipt_of_a_case_was_made_of_is_kept(opened: Open) -> None:
    receipts = opened()
    receipts.record(receipt(), {"tests/test.sh": "1", "solution/solve.sh": "1"})
    receipts.record(receipt("nop"), {"tests/test.sh": "1"})
    receipts.record(receipt("old", at=NOON - KEPT_SECONDS - 1), {"tests/test.sh": "0"})
    receipts.record(receipt(), {"tests/test.sh": "2"})
    assert opened().ingredients(TASK) == {"oracle": {"tests/test.sh": "2"}, "nop": {"tests/test.sh": "1"}}


def test_the_oldest_receipts_of_a_case_are_dropped(opened: Open) -> None:
    receipts = opened()
    receipts.record(receipt("nop"))
    for number in range(KEPT + 3):
        receipts.record(receipt(at=NOON + number))
    assert [one.at - NOON for one in receipts.of_case(TASK, "oracle")] == list(range(3, KEPT + 3))
    assert len(receipts.of_case(TASK, "nop")) == 1


def test_receipts_over_a_year_old_are_dropped(opened: Open) -> None:
    receipts = opened()
    receipts.record(receipt("nop", at=NOON))
    receipts.record(receipt(at=NOON + KEPT_SECONDS))
    assert set(receipts.of_task(TASK)) == {"nop", "oracle"}
    receipts.record(receipt(at=NOON + KEPT_SECONDS + 1))
    assert set(receipts.of_task(TASK)) == {"oracle"}


def test_threads_may_share_one_database(opened: Open) -> None:
    receipts = opened()

    def write(case: str) -> None:
        for number in range(20):
            receipts.record(receipt(case, at=NOON + number))
            assert receipts.of_task(TASK)[case].at == NOON + number

    threads = [threading.Thread(target=write, args=(f"case-{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {case: one.at for case, one in receipts.of_task(TASK).items()} == {
        f"case-{n}": NOON + 19 for n in range(4)
    }


# What a file can be


def test_a_damaged_database_is_set_aside_and_a_new_one_begun(
    opened: Open, path: Path, said: list[str]
) -> None:
    path.parent.mkdir()
    path.write_bytes(b"not a database, but long enough to look like one" * 100)
    receipts = opened()
    receipts.record(receipt())
    assert opened().find("oracle", INPUTS) == receipt()
    assert said == [
        f"{path}: file is not a database; set aside as receipts.db.damaged-1, and a new one begun"
    ]
    assert path.with_name("receipts.db.damaged-1").read_bytes().startswith(b"not a database")


def test_a_second_damaged_database_does_not_replace_the_first(path: Path, said: list[str]) -> None:
    path.parent.mkdir()
    for number in (1, 2):
        path.write_bytes(b"%d is no database" % number * 100)
        Database.open(path, said.append).close()
    assert path.with_name("receipts.db.damaged-1").read_bytes().startswith(b"1 is")
    assert path.with_name("receipts.db.damaged-2").read_bytes().startswith(b"2 is")


def test_damage_that_shows_later_is_set_aside_too(opened: Open, path: Path, said: list[str]) -> None:
    receipts = opened()
    for number in range(KEPT):
        receipts.record(receipt(at=NOON + number))
    with closing(sqlite3.connect(path)) as other:
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))
    again = opened()
    assert said == []
    assert again.find("oracle", INPUTS) is None
    assert len(said) == 1
    assert "set aside as receipts.db.damaged-1, and a new one begun" in said[0]
    again.record(receipt())
    assert opened().find("oracle", INPUTS) == receipt()


def test_a_database_of_a_newer_workbench_stays_as_it_is(opened: Open, path: Path, said: list[str]) -> None:
    opened().record(receipt("nop"))
    with closing(sqlite3.connect(path)) as newer:
        newer.execute("PRAGMA user_version = 99")
    receipts = opened()
    receipts.record(receipt())
    assert set(opened().of_task(TASK)) == {"oracle"}
    assert said[0] == (
        f"{path}: a newer workbench wrote it (schema 99, this one knows 1); it stays as it is, "
        "and this workbench keeps its own in receipts-schema1.db"
    )
    with closing(sqlite3.connect(path)) as newer:
        assert newer.execute("SELECT case_name FROM receipts").fetchall() == [("nop",)]


def test_an_older_database_is_brought_up_to_date_with_its_rows(
    opened: Open, path: Path, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened().record(receipt())
    later = (*database_module.MIGRATIONS, ("ALTER TABLE receipts ADD COLUMN seen REAL DEFAULT 7",))
    monkeypatch.setattr(database_module, "MIGRATIONS", later)
    assert opened().find("oracle", INPUTS) == receipt()
    assert said == []
    with closing(sqlite3.connect(path)) as raw:
        assert raw.execute("PRAGMA user_version").fetchone() == (2,)
        assert raw.execute("SELECT seen FROM receipts").fetchall() == [(7,)]


def test_a_migration_that_fails_leaves_the_database_as_it_was(
    opened: Open, path: Path, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened().record(receipt())
    opened().record(receipt())
    with monkeypatch.context() as patch:
        unfit = ("CREATE TABLE extra (x)", "CREATE UNIQUE INDEX one_a_task ON receipts (task)")
        later = (*database_module.MIGRATIONS, unfit)
        patch.setattr(database_module, "MIGRATIONS", later)
        assert opened().of_task(TASK) == {}
    assert "kept only until this workbench ends" in said[0]
    assert opened().find("oracle", INPUTS) == receipt()


def test_a_row_of_an_unknown_shape_is_as_good_as_none(opened: Open, path: Path) -> None:
    receipts = opened()
    receipts.record(receipt())
    receipts.record(receipt("nop"))
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("UPDATE receipts SET receipt = ? WHERE case_name = 'nop'", (b'{"other": 1}',))
    assert set(opened().of_task(TASK)) == {"oracle"}


def test_without_a_writable_place_receipts_last_as_long_as_the_workbench(
    opened: Open, path: Path, said: list[str]
) -> None:
    path.parent.write_text("a file where the directory should be")
    receipts = opened()
    receipts.record(receipt())
    assert receipts.find("oracle", INPUTS) == receipt()
    assert len(said) == 1
    assert str(path) in said[0]
    assert "kept only until this workbench ends" in said[0]


# Two workbenches


@pytest.mark.parametrize("content", [b"", b"no database" * 1000], ids=["new", "damaged"])
def test_workbenches_that_begin_one_database_at_the_same_moment_share_it(
    tmp_path: Path, said: list[str], content: bytes
) -> None:
    for number in range(20):
        path = tmp_path / f"{number}.db"
        path.write_bytes(content)
        start = threading.Barrier(4)

        def begin(case: str, path: Path = path, start: threading.Barrier = start) -> None:
            start.wait()
            database = Database.open(path, said.append)
            Receipts(database).record(receipt(case))
            database.close()

        threads = [threading.Thread(target=begin, args=(f"case-{n}",)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        database = Database.open(path, said.append)
        assert len(Receipts(database).of_task(TASK)) == 4
        database.close()
    assert len(said) == (20 if content else 0)


def test_a_reader_does_not_wait_for_a_writer(opened: Open, path: Path) -> None:
    opened().record(receipt())
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("DELETE FROM receipts")
        assert opened(busy_timeout=0).find("oracle", INPUTS) == receipt()
        writer.execute("ROLLBACK")


def test_a_writer_does_not_wait_for_a_reader(opened: Open, path: Path) -> None:
    receipts = opened(busy_timeout=0)
    receipts.record(receipt())
    with closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM receipts").fetchone() == (1,)
        receipts.record(receipt("nop"))
        assert reader.execute("SELECT count(*) FROM receipts").fetchone() == (1,)
    assert set(receipts.of_task(TASK)) == {"oracle", "nop"}


def test_a_writer_that_waited_in_vain_says_what_holds_it(opened: Open, path: Path) -> None:
    receipts = opened(busy_timeout=0)
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        with pytest.raises(DatabaseError, match=r"receipts\.db: database is locked"):
            receipts.record(receipt())
    receipts.record(receipt())
    assert receipts.find("oracle", INPUTS) == receipt()


def test_the_newest_receipts_are_of_all_tasks_the_newest_first(opened: Open) -> None:
    receipts = opened()
    for number, task in enumerate(("/tasks/a", "/tasks/b", "/tasks/a")):
        receipts.record(receipt(task=task, at=NOON + number))
    assert [(one.task, one.at) for one in receipts.newest(2)] == [
        ("/tasks/a", NOON + 2),
        ("/tasks/b", NOON + 1),
    ]
