"""Receipts: what runs came to, by all that they depended on, kept on disk.

A receipt is written once, whole, after the outcome is known. It says nothing of files that differ from
those it was made of: whoever reads one compares its inputs with those of now.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from sqlite3 import Connection
from types import MappingProxyType

import msgspec

from workbench.cases.case import Expectation
from workbench.proof.database import KEPT_SECONDS, Database
from workbench.proof.documents import Inputs
from workbench.trials.outcome import Outcome

KEPT = 50
"""Receipts kept for one case of a task; older ones are dropped."""
REPEATS = 10
"""Receipts of the same inputs that are looked at, the newest ones."""


type Ingredients = Mapping[str, str]
"""A digest or a value behind the label of each file and setting that a case depends on."""

_UNKNOWN: Ingredients = MappingProxyType({})


class Receipt(msgspec.Struct, frozen=True, kw_only=True):
    """What one run of a case came to, and what it was made of."""

    task: str
    """Absolute directory."""
    task_digest: str
    """Of all the task's files."""
    case: str
    expect: Expectation | None
    inputs: Inputs
    image: str
    """What the machine booted: an image reference or digest, or "image-free"."""
    machine: str
    """The host that it ran on."""
    at: float
    """Unix seconds when it ended."""
    outcome: Outcome
    trial_dir: str
    """Where the trial directory was; it may be gone, see `trial_gone`."""

    @property
    def whole(self) -> bool:
        """True for a whole trial, False for a re-verification."""
        return self.outcome.whole

    @property
    def graded(self) -> bool:
        """Whether a verifier decided. Only then may the receipt stand in for a run: an error or a void
        run may come out otherwise when tried again."""
        return self.outcome.kind in ("passed", "failed")

    @property
    def trial_gone(self) -> bool:
        """Whether the trial directory is no longer there. Looks at the disk."""
        return not Path(self.trial_dir).is_dir()


def stale_why(receipt: Receipt, now: Inputs, changed: str = "") -> str:
    """Which inputs differ from those of now, in words; empty when none does.

    Args:
        changed: What of the task's files and settings differs, such as "tests/test.sh changed"; where it is
            not known, the stage is named.
    """
    was = receipt.inputs
    words = []
    if was.agent_key != now.agent_key:
        words.append(
            changed or "the agent stage changed: image, settings, instruction or the case's own files"
        )
    elif was.verdict_key != now.verdict_key:
        words.append(changed or "the verdict stage changed: tests, verifier settings or the expectation")
    pairs = [("provider", was.provider, now.provider)]
    if was.provider == now.provider:
        pairs.append((now.provider, was.provider_version, now.provider_version))
    pairs += [
        ("Harbor", was.harbor, now.harbor),
        ("workbench", was.workbench, now.workbench),
        ("platform", was.platform, now.platform),
        ("threshold", f"{was.threshold:g}", f"{now.threshold:g}"),
    ]
    return "; ".join(words + [f"{what} was {a}, is {b}" for what, a, b in pairs if a != b])


class Receipts:
    """The receipts in a database. Any thread may use it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def record(self, receipt: Receipt, ingredients: Ingredients = _UNKNOWN) -> None:
        """Keep a receipt: all of it once this returns, or nothing. Old ones are dropped.

        Args:
            ingredients: What the keys were made of, so that a later start can say what changed. Kept of a
                case's newest receipt only.

        Raises:
            ValueError: the run was cancelled, so it came to nothing.
            DatabaseError: it cannot be written.
        """
        if receipt.outcome.kind == "cancelled":
            raise ValueError(f"{receipt.case}: a cancelled run has no receipt")
        place = (receipt.task, receipt.case)
        row = (*place, receipt.inputs.verdict_key, receipt.at, _encoder.encode(receipt))

        def work(connection: Connection) -> None:
            connection.execute(_INSERT, row)
            connection.execute(_INSERT_INGREDIENTS, (*place, receipt.at, _encoder.encode(dict(ingredients))))
            for drop in _DROP_OLD:
                connection.execute(drop, (receipt.at - KEPT_SECONDS,))
            connection.execute(_DROP_MANY, place * 2)

        self._database.write(work)

    def find(self, case: str, now: Inputs) -> Receipt | None:
        """The newest receipt of a case with exactly these inputs, of whatever task directory."""
        return next(iter(self.repeats(case, now)[::-1]), None)

    def repeats(self, case: str, now: Inputs) -> tuple[Receipt, ...]:
        """The newest receipts of a case with exactly these inputs, oldest first: runs of the same thing.

        Raises:
            DatabaseError: it cannot be read.
        """

        def work(connection: Connection) -> list[Receipt]:
            rows = connection.execute(_BY_KEY, (now.verdict_key, case))
            return list(islice((one for one in _decoded(rows) if one.inputs == now), REPEATS))

        return tuple(reversed(self._database.read(work)))

    def of_task(self, task: str) -> dict[str, Receipt]:
        """The newest receipt of every case that a task directory ever had, by the case's name, whether
        or not it speaks of the files as they are.

        Raises:
            DatabaseError: it cannot be read.
        """
        return {receipt.case: receipt for receipt in self._read(_NEWEST, task)}

    def ingredients(self, task: str) -> dict[str, Ingredients]:
        """What the keys of each receipt in `of_task` were made of, by the case's name.

        Raises:
            DatabaseError: it cannot be read.
        """
        rows = self._database.read(lambda connection: connection.execute(_INGREDIENTS, (task,)).fetchall())
        return {case: msgspec.json.decode(labels, type=dict[str, str]) for case, labels in rows}

    def of_case(self, task: str, case: str) -> tuple[Receipt, ...]:
        """All receipts that are kept of a task directory's case, oldest first.

        Raises:
            DatabaseError: it cannot be read.
        """
        return tuple(self._read(_OF_CASE, task, case))

    def newest(self, limit: int) -> tuple[Receipt, ...]:
        """The newest receipts of all tasks, newest first.

        Raises:
            DatabaseError: it cannot be read.
        """
        return tuple(self._read(_NEWEST_OF_ALL, limit))

    def _read(self, query: str, *values: str | int) -> list[Receipt]:
        return self._database.read(lambda connection: list(_decoded(connection.execute(query, values))))


def _decoded(rows: Iterable[tuple[bytes]]) -> Iterator[Receipt]:
    for (receipt,) in rows:
        # One that another version wrote in another shape is as good as none: the case runs again.
        with contextlib.suppress(msgspec.DecodeError):
            yield _decoder.decode(receipt)


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Receipt)

_INSERT = "INSERT INTO receipts (task, case_name, verdict_key, at, receipt) VALUES (?, ?, ?, ?, ?)"
_BY_KEY = "SELECT receipt FROM receipts WHERE verdict_key = ? AND case_name = ? ORDER BY id DESC"
_OF_CASE = "SELECT receipt FROM receipts WHERE task = ? AND case_name = ? ORDER BY id"
_NEWEST = """
    SELECT receipt FROM receipts
    WHERE id IN (SELECT max(id) FROM receipts WHERE task = ? GROUP BY case_name) ORDER BY id
"""
_NEWEST_OF_ALL = "SELECT receipt FROM receipts ORDER BY at DESC LIMIT ?"
_INSERT_INGREDIENTS = "INSERT OR REPLACE INTO ingredients (task, case_name, at, labels) VALUES (?, ?, ?, ?)"
_INGREDIENTS = "SELECT case_name, labels FROM ingredients WHERE task = ?"
_DROP_OLD = ("DELETE FROM receipts WHERE at < ?", "DELETE FROM ingredients WHERE at < ?")
_DROP_MANY = f"""
    DELETE FROM receipts WHERE task = ? AND case_name = ? AND id <= (
        SELECT id FROM receipts WHERE task = ? AND case_name = ? ORDER BY id DESC LIMIT 1 OFFSET {KEPT}
    )
"""
