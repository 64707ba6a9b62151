"""The one database of what outlives a run: receipts and history.

SQLite with a write-ahead log, so that readers never wait and a process killed at any moment leaves only
whole transactions. Nothing in it is worth a crash: what cannot be used is set aside, and a new one begun.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

BUSY_TIMEOUT = 5.0
"""Seconds that a write waits for another workbench's."""
KEPT_SECONDS = 365 * 24 * 3600
"""Age at which rows are dropped."""

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE receipts (
            id INTEGER PRIMARY KEY,
            task TEXT NOT NULL,
            case_name TEXT NOT NULL,
            verdict_key TEXT NOT NULL,
            at REAL NOT NULL,
            receipt BLOB NOT NULL
        )""",
        "CREATE INDEX receipts_by_task ON receipts (task, case_name)",
        "CREATE INDEX receipts_by_key ON receipts (verdict_key, case_name)",
        "CREATE INDEX receipts_by_age ON receipts (at)",
        """CREATE TABLE ingredients (
            task TEXT NOT NULL,
            case_name TEXT NOT NULL,
            at REAL NOT NULL,
            labels BLOB NOT NULL,
            PRIMARY KEY (task, case_name)
        )""",
        """CREATE TABLE runs (
            id INTEGER PRIMARY KEY,
            task TEXT NOT NULL,
            case_name TEXT NOT NULL,
            provider TEXT NOT NULL,
            machine TEXT NOT NULL,
            whole INTEGER NOT NULL,
            sound INTEGER NOT NULL,
            kind TEXT NOT NULL,
            at REAL NOT NULL,
            phases BLOB NOT NULL
        )""",
        "CREATE INDEX runs_by_kind ON runs (task, case_name, provider, machine, whole, sound)",
        "CREATE INDEX runs_by_age ON runs (at)",
    ),
)
"""The statements that lead from each schema version to the next; the first from an empty database."""

type Tell = Callable[[str], None]
type Work[T] = Callable[[sqlite3.Connection], T]

_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class DatabaseError(Exception):
    """Something could not be read or kept; the message names the file and the cause."""


class _NewerSchemaError(Exception):
    pass


class Database:
    """An open database. Any thread may use it; calls take turns, and may wait for the disk."""

    def __init__(self, path: Path, tell: Tell, busy_timeout: float) -> None:
        self._path = path
        self._tell = tell
        self._busy_timeout = busy_timeout
        self._turn = threading.Lock()
        self._connection = self._open()

    @classmethod
    def open(
        cls, path: Path, tell: Tell = lambda message: None, busy_timeout: float = BUSY_TIMEOUT
    ) -> Database:
        """Open the database at `path`, or begin one there. Never fails.

        A damaged one is renamed. One that a newer workbench wrote stays where it is, for that workbench,
        and another is used beside it. Where none can be written, rows last as long as this object.

        Args:
            tell: Hears in one line of whatever else was done than opening it, now or later, on any thread.
                It must not use the database.
            busy_timeout: Seconds that a write waits for another's.
        """
        return cls(path, tell, busy_timeout)

    def read[T](self, work: Work[T]) -> T:
        """What `work` reads.

        Raises:
            DatabaseError: it cannot be read.
        """
        return self._do(work)

    def write[T](self, work: Work[T]) -> T:
        """Do `work` as one transaction: all of it is kept once this returns, or nothing of it.

        Raises:
            DatabaseError: it cannot be written: no room, or another program holds it.
        """

        def transaction(connection: sqlite3.Connection) -> T:
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                return work(connection)

        return self._do(transaction)

    def close(self) -> None:
        """Let go of the file. Idempotent."""
        with self._turn:
            self._connection.close()

    def _do[T](self, work: Work[T]) -> T:
        with self._turn:
            try:
                try:
                    return work(self._connection)
                except sqlite3.DatabaseError as error:
                    if not _is_damage(error):
                        raise
                    self._connection.close()
                    self._connection = self._open(thorough=True)
                    return work(self._connection)
            except sqlite3.Error as error:
                raise DatabaseError(f"{self._path}: {error}") from error

    def _open(self, thorough: bool = False) -> sqlite3.Connection:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with _opening(self._path):
                return self._open_or_begin(thorough)
        except (OSError, sqlite3.Error) as error:
            self._tell(
                f"{self._path}: {error}; receipts and history are kept only until this workbench ends: "
                "make its directory writable and open the task again"
            )
            connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
            _migrate(connection)
            return connection

    def _open_or_begin(self, thorough: bool) -> sqlite3.Connection:
        try:
            return _connect(self._path, self._busy_timeout, thorough)
        except _NewerSchemaError as newer:
            own = self._path.with_stem(f"{self._path.stem}-schema{len(MIGRATIONS)}")
            self._tell(
                f"{self._path}: {newer}; it stays as it is, and this workbench keeps its own in {own.name}"
            )
            self._path = own
            return self._open_or_begin(thorough)
        except sqlite3.DatabaseError as error:
            if not _is_damage(error):
                raise
            aside = _set_aside(self._path)
            self._tell(f"{self._path}: {error}; set aside as {aside.name}, and a new one begun")
            return _connect(self._path, self._busy_timeout, thorough)


def _connect(path: Path, busy_timeout: float, thorough: bool) -> sqlite3.Connection:
    # Without an isolation level, transactions are where this file says and nowhere else.
    connection = sqlite3.connect(path, busy_timeout, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        # A power cut may cost the last rows, but never a whole one; a killed process costs none. Waiting
        # for the disk at each run would cost more than such a row, which is made again by a run.
        connection.execute("PRAGMA synchronous = NORMAL")
        _migrate(connection)
        if thorough and (found := connection.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
            raise _damage(found)
        return connection
    except BaseException:
        connection.close()
        raise


def _migrate(connection: sqlite3.Connection) -> None:
    version = _version(connection)
    if version < len(MIGRATIONS):
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            for statement in itertools.chain(*MIGRATIONS[_version(connection) :]):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
    elif version > len(MIGRATIONS):
        raise _NewerSchemaError(
            f"a newer workbench wrote it (schema {version}, this one knows {len(MIGRATIONS)})"
        )
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if missing := {"receipts", "ingredients", "runs"} - tables:
        raise _damage(f"it lacks the table {min(missing)}")


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _damage(what: str) -> sqlite3.DatabaseError:
    error = sqlite3.DatabaseError(what)
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    return error


def _is_damage(error: sqlite3.DatabaseError) -> bool:
    # The low byte is the primary code; the rest says more of the same.
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGED


def _set_aside(path: Path) -> Path:
    names = (path.with_name(f"{path.name}.damaged-{number}") for number in itertools.count(1))
    aside = next(name for name in names if not name.exists())
    # The log goes first: one that is left alone would be taken for the next database's.
    for suffix in ("-wal", "-shm", ""):
        with contextlib.suppress(FileNotFoundError):
            path.with_name(path.name + suffix).rename(aside.with_name(aside.name + suffix))
    return aside


@contextlib.contextmanager
def _opening(path: Path) -> Iterator[None]:
    """One process at a time: two that switch a new file to its log, or set one aside, would collide."""
    with path.with_name(path.name + ".lock").open("a") as file:
        # A file system without such locks is rare, and has no others of ours on it.
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
