"""A workbench that only keeps receipts, to be killed: `receipts_writer DATABASE TRIALS NAME RUNS [DIE_AT]`.

Once a receipt is written, its case's name goes on a line to standard output: it is acknowledged. With DIE_AT
it kills itself at that instruction of SQLite's; without, it ends by saying how many there were.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import patch

import msgspec

from tests.proof.made import graded, receipt
from workbench.proof.database import Database
from workbench.proof.receipts import Receipts

OUTCOME = "outcome.json"


def run(receipts: Receipts, trials: Path, case: str, reward: float) -> None:
    """A run that comes to this reward: its trial directory, then its receipt."""
    outcome = graded(reward)
    trial = trials / case
    trial.mkdir()
    (trial / OUTCOME).write_bytes(msgspec.json.encode(outcome))
    receipts.record(receipt(case, outcome=outcome, trial_dir=str(trial)))


def main(database: Path, trials: Path, name: str, runs: int, die_at: int = -1) -> None:
    instructions = count()

    def step() -> int:
        if next(instructions) == die_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return 0

    connect = sqlite3.connect

    def counted(*args: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*args, **options)
        connection.set_progress_handler(step, 1)
        return connection

    with patch("sqlite3.connect", counted):
        receipts = Receipts(Database.open(database, lambda message: print(message, file=sys.stderr)))
    for number in range(runs):
        case = f"{name}-{number}"
        run(receipts, trials, case, reward=number % 3 / 2)
        print(case, flush=True)
    print(next(instructions), file=sys.stderr)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], *map(int, sys.argv[4:]))
