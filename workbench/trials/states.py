"""What environments over our own machines offer beyond Harbor's contract."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol, runtime_checkable

import msgspec

from workbench.machines.machine import Machine, State


@runtime_checkable
class StatefulEnvironment(Protocol):
    """An environment whose machine can be frozen, and that can start as a branch of a state."""

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
