"""Runs the contract as the user that started it.

`python -m tests.machines.bubblewrap.driver DIRECTORY [NAME...]` prints a JSON object: for each contract an
empty string, or what went wrong.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import sys
import traceback
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.machines.bubblewrap.bench import Bench
from tests.machines.bubblewrap.contract import commands, files, isolation, lives, states
from workbench.machines.bubblewrap.session import BubblewrapSession

type Contract = Callable[[Bench], Awaitable[None]]

_TIMEOUT = 60.0


def contracts() -> dict[str, Contract]:
    """All of them by name."""
    return {
        name: value
        for module in (isolation, commands, files, states, lives)
        for name, value in vars(module).items()
        if inspect.iscoroutinefunction(value) and list(inspect.signature(value).parameters) == ["bench"]
    }


async def drive(directory: Path, names: list[str]) -> dict[str, str]:
    """The outcome of each contract; `mode`, and under `left` what the session left behind."""
    # A long path, as overlay options hold at most a page, and states of some depth shall get there.
    root = directory / ("machines-" + "x" * 100)
    session = BubblewrapSession(root, directory / "cache")
    outcomes: dict[str, str] = {"mode": session.mode}
    try:
        for name in names or contracts():
            (directory / name).mkdir()
            outcomes[name] = await _outcome(contracts()[name], Bench(session, directory / name))
    finally:
        await session.close()
    left = [path.name for path in root.iterdir() if path.name != ".lock"]
    return {**outcomes, "left": " ".join(left)}


async def _outcome(contract: Contract, bench: Bench) -> str:
    try:
        async with asyncio.timeout(_TIMEOUT):
            await contract(bench)
    except (Exception, pytest.fail.Exception):
        return traceback.format_exc()
    return ""


if __name__ == "__main__":
    os.umask(0o077)
    print(json.dumps(asyncio.run(drive(Path(sys.argv[1]), sys.argv[2:]))))
