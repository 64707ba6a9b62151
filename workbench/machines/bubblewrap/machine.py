"""A machine: commands, files, freezing, the end."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath

import msgspec

from workbench.images.archive import IDLE
from workbench.machines.bubblewrap import keyring, merge, transfer
from workbench.machines.bubblewrap.accounts import ROOT, Account, UnknownUserError, find_account
from workbench.machines.bubblewrap.base import PATH
from workbench.machines.bubblewrap.census import inhabitants, usage_of
from workbench.machines.bubblewrap.enter import CANNOT_START, command_script, entering, shell_words
from workbench.machines.bubblewrap.ground import Ground
from workbench.machines.bubblewrap.launch import Running, Spec, launch
from workbench.machines.bubblewrap.layers import Layers
from workbench.machines.bubblewrap.processes import Stopped, discard, run
from workbench.machines.bubblewrap.state import BubblewrapState, Start
from workbench.machines.machine import (
    Finished,
    HostCommand,
    MachineDiedError,
    MachineError,
    OnOutput,
    Usage,
)

_TERM = "xterm-256color"
_KILLED = 128 + signal.SIGKILL
_DYING = 0.05
"""Seconds between the end of a machine's last command and its own."""
_PYTHON_ENV = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


class BubblewrapMachine:
    """Namespaces with a file system of their own. Made by `BubblewrapSession`.

    Attributes:
        name: Unique in its session.
        spec: What it was to be.
    """

    def __init__(
        self,
        name: str,
        spec: Spec,
        ground: Ground,
        running: Running,
        directory: Path,
        parent: BubblewrapState | None,
        start: Start,
    ) -> None:
        self.name = name
        self.spec = spec
        self._ground = ground
        self._running = running
        self._directory: Path | None = directory
        self._parent = parent
        self._start = start
        self._sessions: set[int] = set()
        self._leftovers: set[int] = set()
        self._freezing = asyncio.Lock()
        self._ended_because = ""
        self._entrypoint: asyncio.Task[None] | None = None
        if parent:
            parent.hold()

    @property
    def pid_namespace(self) -> int:
        """The inode of its process namespace, which the host's /proc/PID/ns/pid names."""
        return self._running.pid_namespace

    @property
    def alive(self) -> bool:
        """Whether it can run commands."""
        return self._running.alive

    @property
    def layers(self) -> tuple[Layers, ...]:
        """Where its files are on the host.

        Raises:
            MachineDiedError: the machine has ended.
        """
        self._check()
        return tuple(
            Layers(mount.target, str(self._directory / str(number)), tuple(self.spec.lower(number)))
            for number, mount in enumerate(self.spec.base.mounts)
            if self._directory
        )

    @property
    def as_owner(self) -> tuple[str, ...]:
        """The prefix of a command that reads its files on the host."""
        return self._ground.as_owner

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
        """Run a command. As `Machine.exec`; it takes 4 to 8 ms besides what the command takes.

        Exit code 126, with the reason on stderr, for a directory or user that is not there. Of each stream at
        most 32 MiB are kept. Children that outlive the command go on, unless it is timed out or cancelled.
        """
        try:
            account = await self._account(user)
        except UnknownUserError as error:
            return Finished(CANNOT_START, b"", f"{error}\n".encode())
        if "\0" in command:
            return Finished(CANNOT_START, b"", b"a command cannot hold a NUL character\n")
        variables = {**self._variables(account), **(env or {})}
        script = command_script(command, cwd or self.spec.workdir, variables, self.spec.base.shell)
        stdin = _memory_file(script)
        try:
            return await self._run(
                ["/bin/sh"],
                account,
                stdin=stdin,
                timeout=timeout,
                on_output=on_output,
                keep_output=keep_output,
            )
        finally:
            os.close(stdin)

    async def upload(self, source: Path, target: str) -> None:
        """Copy a host file to `target`, or a directory's contents into it, modes kept. All becomes root's.

        Raises:
            MachineError: it cannot be read, or not written inside.
        """
        if not source.exists():
            raise MachineError(f"there is no {source} to upload")
        path = PurePosixPath(target)
        directory, name = (path, "") if source.is_dir() else (path.parent, path.name)
        ours_read, ours_write = os.pipe()
        packing = asyncio.create_task(asyncio.to_thread(transfer.pack, source, name, ours_write))
        try:
            done = await self._run(["/bin/sh", "-c", transfer.UNPACK, "sh", str(directory)], stdin=ours_read)
        finally:
            os.close(ours_read)
            try:
                await packing
            except OSError as error:
                raise MachineError(f"{error.filename or source}: {error.strerror}") from None
        if done.exit_code:
            raise MachineError(f"uploading {source} to {target}: {_last_words(done)}", _hint(done))

    async def download(self, source: str, target: Path) -> None:
        """Copy a file to the host path `target`, or a directory's contents into it.

        Modes are kept but for setuid and the like. Links that could lead out of the tree, and special files,
        are left out.

        Raises:
            MachineError: it is not there, or cannot be written on the host.
        """
        ours_read, ours_write = os.pipe()
        unpacking = asyncio.create_task(asyncio.to_thread(transfer.unpack, ours_read, target))
        done = None
        try:
            done = await self._run(["/bin/sh", "-c", transfer.PACK, "sh", source], stdout=ours_write)
        finally:
            os.close(ours_write)
            failed = done is None or done.exit_code not in (0, transfer.CHANGED)
            with suppress(*([transfer.BrokenArchiveError] if failed else [])):
                await unpacking
        if failed:
            raise MachineError(f"downloading {source}: {_last_words(done)}", _hint(done))

    async def freeze(self) -> BubblewrapState:
        """Keep its files as they are now; the machine goes on, stopped only while they are copied.

        Raises:
            MachineError: the copy failed.
        """
        async with self._freezing:
            self._check()
            assert self._directory is not None
            copy = self._ground.new_directory("s")
            try:
                had_processes = await self._copy(self._directory, copy)
            except BaseException:
                self._ground.remove(copy)
                raise
        layers = (*self.spec.layers, copy)
        parent = self._parent
        if msgspec.structs.replace(self.spec, layers=layers).too_deep(copy):
            copy = await self._merge(layers)
            layers, parent = (copy,), None
        spec = msgspec.structs.replace(self.spec, layers=layers)
        return BubblewrapState(self._ground, spec, copy, parent, self._start, had_processes=had_processes)

    def shell(self, *, user: str | int | None = None, env: Mapping[str, str] | None = None) -> HostCommand:
        """An interactive bash (else sh), with the machine's own variables.

        Raises:
            MachineDiedError: the machine has ended.
        """
        self._check()
        wanted = str(user) if user is not None else self.spec.user
        other = "" if _known_account(wanted) else wanted
        variables = {"TERM": _TERM, **self._variables(ROOT), **(env or {})}
        words = shell_words(self.spec.workdir, variables, self.spec.base.shell, other)
        without_keys = (sys.executable, "-I", "-S", keyring.__file__)
        return HostCommand((*without_keys, *entering(self._ground, self._running, ROOT), *words), {})

    async def usage(self) -> Usage:
        """What its processes cost now."""
        return await asyncio.to_thread(usage_of, self._running.pid_namespace)

    def start_entrypoint(self) -> None:
        """Start what the image names as its entrypoint, with what Harbor's Docker environment gives it to do.

        In a branch it starts again, as in a container that was stopped. When it ends, the machine does.
        """
        if words := self.spec.base.entrypoint:
            command = f"exec {shlex.join((*words, *IDLE))}"
            self._entrypoint = asyncio.create_task(
                self._run_entrypoint(command), name=f"{self.name} entrypoint"
            )

    async def _run_entrypoint(self, command: str) -> None:
        with suppress(MachineError):
            done = await self.exec(command)
            said = _last_words(done).splitlines()[-1]
            code = f"ended with exit code {done.exit_code}"
            because = code if said == f"exit code {done.exit_code}" else f"{code}: {said}"
            self._ended_because = f": its image's entrypoint, {self.spec.base.entrypoint[0]}, {because}"
            self._running.kill()

    async def delete(self) -> None:
        """End everything in it; its files are removed in the background. Idempotent."""
        directory, self._directory = self._directory, None
        if directory is None:
            return
        self._running.kill()
        await self._running.ended()
        for fd in list(self._leftovers):
            self._drop(fd)
        self._ground.remove(directory)
        if self._parent:
            self._parent.release()

    def delete_now(self) -> None:
        """End everything in it, blocking, for when no event loop runs any more; its files stay."""
        if self._directory is not None:
            self._directory = None
            self._running.end_now()

    def _check(self) -> None:
        if self._directory is None:
            raise MachineDiedError(f"machine {self.name} was deleted")
        if not self.alive:
            raise MachineDiedError(f"machine {self.name} has ended{self._ended_because}")

    async def _run(
        self,
        words: list[str],
        account: Account = ROOT,
        *,
        stdin: int = subprocess.DEVNULL,
        stdout: int = subprocess.PIPE,
        timeout: float | None = None,
        on_output: OnOutput | None = None,
        keep_output: bool = True,
    ) -> Finished:
        self._check()
        session = 0

        def started(pid: int) -> None:
            nonlocal session
            session = pid
            self._sessions.add(pid)

        try:
            done = await run(
                [*entering(self._ground, self._running, account), *words],
                env={},
                stdin=stdin,
                stdout=stdout,
                timeout=timeout,
                on_output=on_output,
                keep_output=keep_output,
                adopt=self._adopt,
                started=started,
            )
        finally:
            self._sessions.discard(session)
        if done.exit_code and await self._ending(done.exit_code):
            what = f"machine {self.name} ended while a command ran in it{self._ended_because}"
            raise MachineDiedError(what)
        return done

    async def _ending(self, exit_code: int) -> bool:
        """Whether a command may have ended so because the machine did."""
        if exit_code == _KILLED and self._directory is not None and self.alive:
            # The first process, killed, is there until all others are gone.
            with suppress(TimeoutError):
                async with asyncio.timeout(_DYING):
                    await self._running.first_ended()
        return self._directory is None or not self.alive

    async def _account(self, user: str | int | None) -> Account:
        wanted = str(user) if user is not None else self.spec.user
        known = _known_account(wanted)
        if known:
            return known
        files = await self._run(["/bin/sh", "-c", "cat /etc/passwd; echo; echo :; cat /etc/group; exit $?"])
        passwd, _, group = files.stdout.decode(errors="replace").partition("\n:\n")
        account = find_account(wanted, passwd, group)
        if self._ground.users.mode == "single" and account.uid != 0:
            raise UnknownUserError(
                f"unable to run as user {wanted}: machines have no users but root here "
                f"({self._ground.users.why})"
            )
        return account

    def _variables(self, account: Account) -> dict[str, str]:
        own = {"PATH": PATH, "HOSTNAME": self.spec.hostname, "HOME": account.home}
        return {**own, **self.spec.base.env, **self.spec.env}

    async def _copy(self, source: Path, target: Path) -> bool:
        """Copy the changes while nothing runs; whether anything did."""
        stopped = Stopped()
        try:
            others = await _to_the_end(self._stop_all, stopped)
            layers = [str(source / str(number)) for number in range(len(self.spec.base.mounts))]
            done = await run(
                [*self._ground.as_owner, "/bin/cp", "-a", "--reflink=auto", "--", *layers, str(target)],
                env={},
            )
        finally:
            await _to_the_end(stopped.wake)
        if done.exit_code:
            raise MachineError(f"keeping the files of {self.name}: {_last_words(done)}")
        return others

    async def _merge(self, layers: tuple[Path, ...]) -> Path:
        """One layer in the place of all; the last of them, which is nobody else's, is removed."""
        merged = self._ground.new_directory("s")
        try:
            for number in range(len(self.spec.base.mounts)):
                words = [sys.executable, "-m", merge.__name__, str(merged / str(number))]
                words += [str(layer / str(number)) for layer in layers]
                done = await run([*self._ground.as_owner, *words], env=_PYTHON_ENV)
                if done.exit_code:
                    raise MachineError(f"merging the layers of {self.name}: {_last_words(done)}")
        except BaseException:
            self._ground.remove(merged)
            raise
        finally:
            self._ground.remove(layers[-1])
        return merged

    def _stop_all(self, stopped: Stopped) -> bool:
        """Stop what runs; whether any of it is not of a command that the engine is running here."""
        others = False
        while fresh := [
            process
            for process in inhabitants(self._running.pid_namespace)
            if process.runs and not process.entered and process.pid not in stopped
        ]:
            stopped.stop({process.pid for process in fresh})
            others = others or any(process.session not in self._sessions for process in fresh)
        return others

    def _adopt(self, fd: int) -> None:
        """Go on reading what a child in the background prints, so that it does not die of a closed pipe."""
        self._leftovers.add(fd)
        asyncio.get_running_loop().add_reader(fd, self._discard, fd)

    def _discard(self, fd: int) -> None:
        if not discard(fd):
            self._drop(fd)

    def _drop(self, fd: int) -> None:
        self._leftovers.discard(fd)
        asyncio.get_running_loop().remove_reader(fd)
        os.close(fd)


async def start_machine(
    ground: Ground, name: str, spec: Spec, parent: BubblewrapState | None, start: Start
) -> BubblewrapMachine:
    """Start a machine with no changes of its own yet.

    Raises:
        MachineError: bwrap or the kernel refuses it.
    """
    directory = ground.new_directory("m")
    try:
        running = await launch(ground, spec, directory)
    except BaseException:
        ground.remove(directory)
        raise
    machine = BubblewrapMachine(name, spec, ground, running, directory, parent, start)
    machine.start_entrypoint()
    return machine


async def _to_the_end[**P, T](function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run something in a thread, and do not leave it alone when cancelled."""
    task = asyncio.create_task(asyncio.to_thread(function, *args, **kwargs))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        raise


def _hint(done: Finished) -> str:
    return "install tar in the image" if b"tar: not found" in done.stderr else ""


def _known_account(user: str | int) -> Account | None:
    return ROOT if str(user) in ("", "0", "root") else None


def _memory_file(data: bytes) -> int:
    fd = os.memfd_create("command")
    os.write(fd, data)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _last_words(done: Finished) -> str:
    said = done.stderr.decode(errors="replace").strip()
    return said or f"exit code {done.exit_code}"
