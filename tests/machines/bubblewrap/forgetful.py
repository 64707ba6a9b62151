"""Makes a machine with a process in it and ends without a word: `python -m ... DIRECTORY`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from workbench.machines.bubblewrap.session import BubblewrapSession


async def forget(directory: Path) -> None:
    session = BubblewrapSession(directory / "machines", directory / "cache")
    machine = await session.create("forgotten", await session.host_tools())
    await machine.exec("mkdir -m 000 shut; sleep 987 > /dev/null 2>&1 &")


if __name__ == "__main__":
    asyncio.run(forget(Path(sys.argv[1])))
