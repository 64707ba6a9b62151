"""Makes a machine with processes in it and waits to be killed: `python -m ... DIRECTORY [freezing]`.

Prints a JSON object once all is running: the session's directory, and the numbers of all its processes.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import psutil

from workbench.machines.bubblewrap.census import inhabitants
from workbench.machines.bubblewrap.session import BubblewrapSession
from workbench.machines.machine import Stream


async def hold(directory: Path, *, freezing: bool) -> None:
    session = BubblewrapSession(directory / "machines", directory / "cache")
    machine = await session.create("captive", await session.host_tools())
    await machine.exec("mkdir -m 700 theirs; touch theirs/f; mkdir -m 000 shut")
    if session.mode != "single":
        await machine.exec("chown -R daemon theirs")
    await machine.exec("setsid sleep 987 > /dev/null 2>&1 & sleep 987 > /dev/null 2>&1 &")
    begun = asyncio.Event()

    async def on_output(piece: bytes, stream: Stream) -> None:
        begun.set()

    command = machine.exec("echo begun; sleep 987", on_output=on_output)
    tasks: list[asyncio.Task[object]] = [asyncio.create_task(command)]
    await begun.wait()
    if freezing:
        await machine.exec("head -c 400M /dev/zero > large")  # so that keeping it takes a while
        tasks.append(asyncio.create_task(machine.freeze()))
        while not any(process.state == "T" for process in inhabitants(machine.pid_namespace)):
            await asyncio.sleep(0)
    inside = {process.pid for process in inhabitants(machine.pid_namespace)}
    processes = sorted(inside | {child.pid for child in psutil.Process().children(recursive=True)})
    print(json.dumps({"path": str(session.path), "processes": processes}), flush=True)
    await asyncio.wait(tasks)


if __name__ == "__main__":
    asyncio.run(hold(Path(sys.argv[1]), freezing=sys.argv[2:] == ["freezing"]))
