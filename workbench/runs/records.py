"""What receipts and history say of kept runs, read from their database."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from workbench import places
from workbench.proof.database import Database, DatabaseError
from workbench.proof.documents import PhaseStats
from workbench.proof.history import History
from workbench.proof.receipts import Receipts


class TaskStats(msgspec.Struct, frozen=True):
    """How long the phases of one task's cases take."""

    task: str
    """Absolute directory."""
    phases: tuple[PhaseStats, ...]


def read_stats(state: Path, task: Path | None = None) -> list[TaskStats]:
    """What the history of a task says, or of all tasks, by name.

    Raises:
        DatabaseError: it cannot be read.
    """
    with _opened(state) as database:
        if database is None:
            return []
        history = History(database)
        wanted = [str(task.resolve())] if task else history.tasks()
        found = [TaskStats(name, history.stats(name)) for name in wanted]
    return [one for one in found if one.phases]


def with_receipts(state: Path, tasks: Iterable[str]) -> set[str]:
    """The trial directories of which the newest receipt of a case speaks, as far as they can be read."""
    with suppress(DatabaseError), _opened(state) as database:
        if database is not None:
            receipts = Receipts(database)
            return {receipt.trial_dir for task in tasks for receipt in receipts.of_task(task).values()}
    return set()


@contextmanager
def _opened(state: Path) -> Iterator[Database | None]:
    """The database; None where nothing was kept yet."""
    file = places.records_file(state)
    if not file.is_file():
        yield None
        return
    database = Database.open(file)
    try:
        yield database
    finally:
        database.close()
