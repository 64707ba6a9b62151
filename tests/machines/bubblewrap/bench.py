"""What the contract works with."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.machines.bubblewrap.base import Base
from workbench.machines.bubblewrap.machine import BubblewrapMachine
from workbench.machines.bubblewrap.session import BubblewrapSession
from workbench.machines.machine import Machine


@dataclass
class Bench:
    """A session, and a place on the host."""

    session: BubblewrapSession
    scratch: Path
    """The user's own, and empty."""

    async def base(self) -> Base:
        """The tools of the host."""
        return await self.session.host_tools()

    @asynccontextmanager
    async def machine(self, **wishes: Any) -> AsyncIterator[BubblewrapMachine]:
        """A machine for one contract, on the host's tools and without a network if not said otherwise."""
        base = wishes.pop("base", None) or await self.base()
        usual = {"network": False, "hostname": "bench"}
        machine = await self.session.create(self.scratch.name, base, **{**usual, **wishes})
        try:
            yield machine
        finally:
            await machine.delete()


async def out(machine: Machine, command: str, **wishes: Any) -> str:
    """What a command that must succeed prints."""
    done = await machine.exec(command, **wishes)
    assert (done.exit_code, done.stderr) == (0, b""), done
    return done.stdout.decode()


async def code(machine: Machine, command: str, **wishes: Any) -> int:
    """How a command ends."""
    return (await machine.exec(command, **wishes)).exit_code
