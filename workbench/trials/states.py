"""What environments over our own machines offer beyond Harbor's contract."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Protocol, runtime_checkable
from weakref import WeakSet

import msgspec

from workbench.machines.machine import Machine, MachineError, State


@runtime_checkable
class StatefulEnvironment(Protocol):
    """An environment whose machine can be frozen, and that can start as a branch of a state."""

    session_id: str
    """Names it; a trial's begins with the trial's name."""
    start_state: State | None
    """When set before the start, the environment starts as a branch of it."""

    @property
    def machine(self) -> Machine:
        """The machine that it runs on, once started."""
        ...

    async def keep_state(self) -> State:
        """A state of the machine as it is now; the environment goes on as if nothing had happened."""
        ...


class KeptState(msgspec.Struct, frozen=True):
    """What an agent left, and where the trial's record of it lies."""

    state: State
    trial_dir: Path | None
    """The whole trial's directory; None where no trial led to it, as with a shell's machine."""
    step: str = ""
    """The step whose agent left it; empty in a task without steps."""


_starting: WeakSet[StatefulEnvironment] = WeakSet()


def starts(environment: StatefulEnvironment) -> None:
    """Count an environment that starts among those of `living`."""
    _starting.add(environment)


def living() -> list[tuple[StatefulEnvironment, Machine]]:
    """The environments of this process that have a machine now, with it."""
    found = []
    for environment in list(_starting):
        with contextlib.suppress(MachineError):
            found.append((environment, environment.machine))
    return found
