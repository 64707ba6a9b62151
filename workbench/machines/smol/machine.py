"""A machine that is a microVM, and its states."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path

import msgspec
from smol import ExecOptions

from workbench.machines.machine import (
    Finished,
    GuestUsage,
    HostCommand,
    MachineDiedError,
    MachineError,
    OnOutput,
    Usage,
)
from workbench.machines.smol import files, vmm
from workbench.machines.smol.sdk import CLI
from workbench.machines.smol.vm import Vm, cut_short, to_the_end

_SHELL = 'if [ -x /bin/bash ]; then exec /bin/bash -c "$1"; else exec /bin/sh -c "$1"; fi'
# In a branch, smolvm's pty is no one's controlling terminal, and its device not in the container: Ctrl-C and
# job control would not work. There the shell gets a session with that pty, and a terminal of the container.
_LOGIN = """
shell=/bin/sh; [ -x /bin/bash ] && shell=/bin/bash
set -- "$shell" -l
case $(tty) in /dev/*) exec "$@";; esac
case $(script --version 2>/dev/null) in *util-linux*) set -- script -qec "$shell -l" /dev/null;; esac
command -v setsid >/dev/null || exec "$@"
setsid -c "$@"
exit $?
"""
_PASSED_ON = (
    "HOME",
    "PATH",
    "LANG",
    "LC_ALL",
    "TMPDIR",
    "XDG_CACHE_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
)


class SmolMachine:
    """A live microVM. When it is frozen, it goes on in a branch of what it was."""

    def __init__(self, name: str, vm: Vm) -> None:
        self._name = name
        self.vm = vm
        """The microVM that it runs in now."""
        self._has_shell = False

    @property
    def name(self) -> str:
        """Unique among the engine's machines."""
        return self._name

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
        """See `Machine.exec`.

        Output is text: bytes that are no UTF-8 are replaced. A command that is cut short is killed with all
        its descendants, but not what made itself a daemon.
        """
        options = ExecOptions(
            env=dict(env) if env else None,
            workdir=cwd,
            user=None if user is None else str(user),
            timeout=timeout,
        )
        argv = ("/bin/sh", "-c", _SHELL, "sh", command)
        finished = await self.vm.run(argv, options, on_output, keep_output=keep_output)
        if timeout is not None and cut_short(finished):
            raise TimeoutError(f"the command took longer than {timeout:g} s")
        return finished

    async def upload(self, source: Path, target: str) -> None:
        """See `Machine.upload`."""
        await files.upload(self.vm, source, target)

    async def download(self, source: str, target: Path) -> None:
        """See `Machine.download`."""
        await files.download(self.vm, source, target)

    async def freeze(self) -> SmolState:
        """A state of this machine, memory and processes included. The machine goes on, in a branch of it.

        Commands that run in it now are ended. Where a shell may be attached, which a branch would lose, the
        machine goes on as it is, and the state is a branch of it. A caller that is cancelled waits all the
        same.

        Raises:
            MachineError: it cannot be frozen, and goes on.
            MachineDiedError: it is lost.
        """
        return await to_the_end(self._freeze())

    async def _freeze(self) -> SmolState:
        vm, memory = self.vm, vmm.usage(self.vm.process).memory_bytes
        branch = await vm.branch(freeze=not self._has_shell)
        if self._has_shell:
            return SmolState(branch, memory)
        self.vm = branch
        return SmolState(vm, memory)

    @property
    def alive(self) -> bool:
        """Whether its VMM runs."""
        return self.vm.alive

    def shell(self, *, user: str | int | None = None, env: Mapping[str, str] | None = None) -> HostCommand:
        """An interactive login on this machine, in its working directory."""
        self._has_shell = True
        argv = [str(CLI), "machine", "exec", "--name", self.vm.name, "-it"]
        for name, value in {"COLORTERM": "truecolor", **(env or {})}.items():
            argv += ["-e", f"{name}={value}"]
        if user is not None:
            argv += ["-u", str(user)]
        host = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        return HostCommand((*argv, "--", "/bin/sh", "-c", _LOGIN), host, relays=True)

    async def usage(self) -> Usage:
        """What its VMM takes of the host: the resident set, part of which it may share with its branches."""
        return vmm.usage(self.vm.process)

    async def guest_usage(self) -> GuestUsage:
        """What the guest takes of what it was given.

        Raises:
            MachineDiedError: it has ended.
            MachineError: it does not say.
        """
        if not self.vm.alive:
            raise MachineDiedError("the microVM has ended")
        process = await asyncio.create_subprocess_exec(
            *(CLI, "machine", "stats", "--name", self.vm.name, "--json"),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            stdout, _ = await process.communicate()
        except BaseException:
            process.kill()
            await process.wait()
            raise
        try:
            stats = msgspec.json.decode(stdout, type=_Stats)
        except msgspec.DecodeError:
            raise MachineError("the microVM does not say what it uses") from None
        return GuestUsage(stats.cpu_percent, stats.memory.used_bytes, stats.memory.total_bytes)

    async def delete(self) -> None:
        """See `Machine.delete`. A state that it went on from stays."""
        try:
            await self.vm.end()
        except MachineError:
            if self.vm.alive:
                raise


class SmolState:
    """A microVM frozen for branching: it never runs again."""

    keeps_processes = True

    def __init__(self, vm: Vm, memory_bytes: int) -> None:
        self.vm = vm
        self._memory_bytes = memory_bytes

    @property
    def key(self) -> str:
        """The name of the microVM: no two are the same."""
        return self.vm.name

    async def branch(self, name: str) -> SmolMachine:
        """A new machine, memory and processes included."""
        return SmolMachine(name, await self.vm.branch())

    async def usage(self) -> Usage:
        """Its memory when it was frozen, which branches share where they do not change it."""
        return Usage(self._memory_bytes, 0.0, 1)

    async def delete(self) -> None:
        """See `State.delete`."""
        await self.vm.delete()


class _Memory(msgspec.Struct):
    used_bytes: int
    total_bytes: int


class _Stats(msgspec.Struct):
    cpu_percent: float
    memory: _Memory
