"""A machine's changes, kept to branch from."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

from workbench.machines.bubblewrap.ground import Ground
from workbench.machines.bubblewrap.launch import Spec
from workbench.machines.bubblewrap.processes import run
from workbench.machines.machine import Machine, MachineError, Usage

type Start = Callable[[str, Spec, "BubblewrapState | None"], Awaitable[Machine]]
"""Starts a machine by name on a state, whose directory must not go while the machine lives."""


class BubblewrapState:
    """Layers of files, the topmost of which is this state's own. Memory and processes are not kept.

    Attributes:
        had_processes: Whether something ran in the machine when it was frozen, besides the commands that the
            engine itself was running there. A branch lacks that.
        spec: What a branch is; `layers` includes this state's.
    """

    keeps_processes = False

    def __init__(
        self,
        ground: Ground,
        spec: Spec,
        directory: Path,
        parent: BubblewrapState | None,
        start: Start,
        *,
        had_processes: bool,
    ) -> None:
        self.spec = spec
        self.had_processes = had_processes
        self._ground = ground
        self._directory: Path | None = directory
        self._parent = parent
        self._start = start
        self._users = 0
        if parent:
            parent.hold()

    @property
    def key(self) -> str:
        """Names the state; no other has it."""
        return f"{self._ground.path.name}/{self.spec.layers[-1].name}"

    @property
    def held(self) -> bool:
        """Whether branches or further states stand on it."""
        return self._users > 0

    def hold(self) -> None:
        """Something stands on it from now on."""
        if self._directory is None:
            raise MachineError("this state was deleted")
        self._users += 1

    def release(self) -> None:
        """That is over."""
        self._users -= 1

    async def branch(self, name: str) -> Machine:
        """A new machine that starts with the files of this state. Takes about 10 ms."""
        self.hold()
        try:
            return await self._start(name, self.spec, self)
        finally:
            self.release()

    async def usage(self) -> Usage:
        """No processes; as memory, the bytes that its files take on disk or in a tmpfs."""
        if self._directory is None:
            return Usage(0, 0.0, 0)
        words = [*self._ground.as_owner, "/usr/bin/du", "-s", "--block-size=1", "--", str(self._directory)]
        counted = await run(words, env={})
        return Usage(int(counted.stdout.split()[0] if counted.stdout else 0), 0.0, 0)

    async def delete(self) -> None:
        """Forget the state and remove its files in the background. Idempotent.

        Raises:
            MachineError: branches or states stand on it; those go first.
        """
        if self._directory is None:
            return
        if self.held:
            raise MachineError(f"state {self.key} has {self._users} branches or states that stand on it")
        self._ground.remove(self._directory)
        self._directory = None
        if self._parent:
            self._parent.release()
