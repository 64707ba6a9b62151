"""Makes a session, sweeps beside it, and prints what that removed: `python -m ... DIRECTORY`."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from workbench.machines.bubblewrap.session import BubblewrapSession


async def sweep(directory: Path) -> list[str]:
    session = BubblewrapSession(directory / "machines", directory / "cache")
    removed = session.sweep()
    await session.close()
    return [str(path) for path in removed]


if __name__ == "__main__":
    print(json.dumps(asyncio.run(sweep(Path(sys.argv[1])))))
