"""What every provider gives: a machine that runs things, and a state to branch it from."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

import msgspec

type Stream = Literal["stdout", "stderr"]
type OnOutput = Callable[[bytes, Stream], Awaitable[None]]
"""Called with each piece of output as it comes."""


class MachineError(Exception):
    """A machine could not be made or used.

    Attributes:
        hint: What to do next, empty where nothing can be said.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class MachineDiedError(MachineError):
    """The machine ended while it was in use."""


class Finished(msgspec.Struct, frozen=True):
    """A command that ended."""

    exit_code: int
    """128+N for a command ended by signal N, 126 for one that could not be started."""
    stdout: bytes
    stderr: bytes


class HostCommand(msgspec.Struct, frozen=True):
    """A program to run on the host, in a pty, that is a shell inside the machine."""

    argv: tuple[str, ...]
    env: dict[str, str]
    """The whole environment, not an addition to the caller's."""
    relays: bool = False
    """Whether it only carries a terminal that is elsewhere. Its standard error is then its own talk, kept
    off the screen; a shell of the host needs that on the terminal, or it is not interactive."""


class Usage(msgspec.Struct, frozen=True):
    """What a machine costs the host now."""

    memory_bytes: int
    """Host memory: the VMM's, or of all its processes."""
    cpu_seconds: float
    processes: int


class GuestUsage(msgspec.Struct, frozen=True):
    """What a guest, a machine with a kernel of its own, says of itself."""

    cpu_percent: float
    """Of one core."""
    memory_used_bytes: int
    memory_total_bytes: int


class State(Protocol):
    """A machine frozen for branching."""

    @property
    def key(self) -> str:
        """Names the state; two states with one key hold the same."""
        ...

    @property
    def keeps_processes(self) -> bool:
        """Whether memory and running processes come along into a branch."""
        ...

    async def branch(self, name: str) -> Machine:
        """A new machine that starts as the state is. The state stays as it was."""
        ...

    async def usage(self) -> Usage:
        """What keeping it costs the host."""
        ...

    async def delete(self) -> None:
        """Forget the state and free what it holds.

        Raises:
            MachineError: branches or states stand on it; those go first.
        """
        ...


class Machine(Protocol):
    """A live environment. All paths inside are absolute POSIX paths."""

    @property
    def name(self) -> str:
        """Unique among the engine's machines."""
        ...

    async def exec(
        self,
        command: str,
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        user: str | int | None = None,
        timeout: float | None = None,
        on_output: OnOutput | None = None,
        keep_output: bool = True,
    ) -> Finished:
        """Run `command` by `bash -c` (or `sh -c` where there is no bash).

        Args:
            cwd: Where; the machine's working directory when None.
            env: Added to the machine's own variables.
            user: Name or number; the machine's own user when None.
            timeout: Seconds after which all processes of the command are killed.
            keep_output: False when `on_output` is all that is wanted, to hold no copy.

        Raises:
            TimeoutError: it took longer than `timeout`; nothing of it is left running.
            MachineDiedError: the machine ended meanwhile.
        """
        ...

    async def upload(self, source: Path, target: str) -> None:
        """Copy a host file to `target`, or a host directory's contents into it, modes kept."""
        ...

    async def download(self, source: str, target: Path) -> None:
        """Copy a file from the machine to the host path `target`, or a directory's contents into it.

        Links are never followed on the host, and links that leave the tree are left out.
        """
        ...

    async def freeze(self) -> State:
        """A state of this machine as it is now; whether the machine goes on is the provider's to say."""
        ...

    @property
    def alive(self) -> bool:
        """Whether it can run commands."""
        ...

    def shell(self, *, user: str | int | None = None, env: Mapping[str, str] | None = None) -> HostCommand:
        """An interactive login on this machine; `env` is added to the machine's own variables."""
        ...

    async def usage(self) -> Usage:
        """What it costs now."""
        ...

    async def delete(self) -> None:
        """End everything in it and remove it. Idempotent, and never raises for a machine that died."""
        ...


@runtime_checkable
class Guest(Protocol):
    """A machine with a kernel of its own."""

    async def guest_usage(self) -> GuestUsage:
        """What it takes of what it was given.

        Raises:
            MachineError: it does not say.
        """
        ...
