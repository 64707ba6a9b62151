"""Makes a machine with processes in it and waits to be killed: `python -m ... DIRECTORY`.

Prints a JSON object once all is running: the session's directory, and the host's numbers of all its processes.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import psutil

from workbench.machines.bubblewrap.census import inhabitants
from workbench.machines.bubblewrap.session import BubblewrapSession


async def hold(directory: Path) -> None:
    session = BubblewrapSession(directory / "machines", directory / "cache")
    machine = await session.create("captive", await session.host_tools())
    await machine.exec("mkdir -m 700 theirs; touch theirs/f; mkdir -m 000 shut")
    if session.mode != "single":
        await machine.exec("chown -R daemon theirs")
    await machine.exec("setsid sleep 987 > /dev/null 2>&1 & sleep 987 > /dev/null 2>&1 &")
    running = asyncio.create_task(machine.exec("sleep 987"))
    while (await machine.usage()).processes < 4:
        await asyncio.sleep(0.01)
    inside = {process.pid for process in inhabitants(machine.pid_namespace)}
    processes = sorted(inside | {child.pid for child in psutil.Process().children(recursive=True)})
    print(json.dumps({"path": str(session.path), "processes": processes}), flush=True)
    await running


if __name__ == "__main__":
    asyncio.run(hold(Path(sys.argv[1])))
