"""What an engine's machines and states cost the host."""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from collections.abc import Iterable
from itertools import starmap
from weakref import WeakKeyDictionary

from workbench.engine.shells import Shells
from workbench.events import CostsMeasured, MachineCost
from workbench.machines.machine import Guest, GuestUsage, Machine, MachineError
from workbench.machines.states import StateTree
from workbench.trials.states import StatefulEnvironment, living

ASK_SECONDS = 5.0
"""Between two questions to a guest."""


class Guests:
    """What guests say of themselves; each is asked once in a while only, for the answer takes a process."""

    def __init__(self) -> None:
        self._asked: WeakKeyDictionary[Guest, tuple[float, GuestUsage | None]] = WeakKeyDictionary()

    async def usage(self, machine: Machine) -> GuestUsage | None:
        """The newest answer; None where there is no guest, or it does not answer."""
        if not isinstance(machine, Guest):
            return None
        asked_at, usage = self._asked.get(machine, (-ASK_SECONDS, None))
        if time.monotonic() - asked_at >= ASK_SECONDS:
            with contextlib.suppress(MachineError, TimeoutError):
                async with asyncio.timeout(ASK_SECONDS):
                    usage = await machine.guest_usage()
            self._asked[machine] = time.monotonic(), usage
        return usage


async def measure(shells: Iterable[Shells], states: StateTree, guests: Guests) -> CostsMeasured:
    """What is alive now: the machines of shells and of runs, and the states that are kept."""
    titles = {name: title for each in shells for name, title in each.titles.items()}

    async def cost(environment: StatefulEnvironment, machine: Machine) -> MachineCost | None:
        session = environment.session_id
        # Harbor names them by the trial, which is named as the run.
        run = "" if session in titles else re.sub("__(?:env|verifier__.*)$", "", session)
        name, stands_on = titles.get(session, (run, f"a run of {run.partition('__')[0]}"))
        with contextlib.suppress(MachineError):
            usage, guest = await machine.usage(), await guests.usage(machine)
            return MachineCost(
                name, stands_on, usage.memory_bytes, usage.cpu_seconds, usage.processes, run, guest
            )
        return None

    # Side by side: a guest may take its time to answer.
    machines = await asyncio.gather(*starmap(cost, living()))
    kept = tuple(MachineCost(one.key, _holds(one.key), one.memory_bytes) for one in states.kept())
    return CostsMeasured(machines=tuple(filter(None, machines)), states=kept)


def _holds(key: str) -> str:
    """What the state of a key holds, in words."""
    _, case, step = key.rsplit(":", 2)
    if case == "shell":
        return f"what was tried in {step}"
    return f"what {case} left" + (f" at {step}" if step else "")
