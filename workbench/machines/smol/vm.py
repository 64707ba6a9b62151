"""One microVM: what may be asked of it, and when."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import itertools
import re
from collections.abc import Coroutine, Sequence
from typing import Any

import psutil
from smol import ExecOptions, Machine, MachineConfig, SmolError
from smol.transport import ExecStream

from workbench.machines.machine import Finished, MachineDiedError, MachineError, OnOutput
from workbench.machines.smol import sdk, vmm
from workbench.machines.smol.purge import APP, machine_name, remove_traces
from workbench.machines.smol.sdk import in_thread
from workbench.machines.smol.stream import StreamError, follow
from workbench.niceness import session_is_worth_as_much

PACK = ".smolmachine"
"""A packed machine; smolmachines boots it as it was packed, and cannot branch it."""
_CUT_SHORT = re.compile(rb"command timed out after \d+ms\s*\Z")
_TIMED_OUT = 124
_STARTS = 2
"""Tries at starting a machine again, which a busy host may delay, until its disk is taken to be at fault."""
_DYING = 1.0
"""Seconds for which a VMM that broke a connection is watched for whether it is ending."""
_SILENT = 15.0
"""Seconds after which a machine that could not be branched, and does not answer either, is given up."""


class Fleet:
    """The microVMs of one session."""

    def __init__(self, session: str) -> None:
        self.session = session
        self.vms: set[Vm] = set()
        self.closed = False
        self._numbers = itertools.count(1)
        self._leaving: set[asyncio.Future[None]] = set()

    async def boot(self, config: MachineConfig) -> Vm:
        """Create, start and wait for a machine; one whose caller is cancelled is deleted once it is there.

        Args:
            config: Its name, labels and whether it can be branched are set here.

        Raises:
            MachineError: it did not start.
        """
        return await self.owned(self._boot(config))

    async def start(self, name: str, config: MachineConfig) -> Vm:
        """Start a machine that was stopped, with its disk as it was; make it where there is none.

        Args:
            config: What it is made of; otherwise as for `boot`.

        Raises:
            MachineError: it did not start.
        """
        return await self.owned(self._start(name, config))

    async def _start(self, name: str, config: MachineConfig) -> Vm:
        known = {machine.name for machine in await in_thread(sdk.machines)}
        if name in known:
            for _ in range(_STARTS):
                with contextlib.suppress(SmolError):
                    handle = await in_thread(sdk.start, name)
                    process = await in_thread(vmm.find, name)
                    return Vm(name, handle, self, None, process, branchable=False, keeps=True)
            with contextlib.suppress(SmolError):
                await in_thread(sdk.delete, name)
            await in_thread(remove_traces, name)
        return await self._boot(config, name)

    async def _boot(self, config: MachineConfig, kept: str = "") -> Vm:
        branchable = not ((config.image or "").endswith(PACK) or kept)
        name = kept or self.next_name()
        config = dataclasses.replace(
            config,
            name=name,
            labels={"app": APP, "session": self.session},
            branchable=branchable,
            persistent=bool(kept),
        )
        try:
            handle = await in_thread(sdk.create, config)
        except SmolError as error:
            await in_thread(remove_traces, name)
            raise MachineError(f"the microVM did not start: {error}", "see `workbench doctor`") from None
        process = await in_thread(vmm.find, name)
        return Vm(name, handle, self, None, process, branchable=branchable, keeps=bool(kept))

    async def owned(self, making: Coroutine[Any, Any, Vm]) -> Vm:
        """What `making` makes. It is never cancelled; what no one waits for any more is deleted."""
        if self.closed:
            making.close()
            raise MachineError("the session has ended")
        task = asyncio.ensure_future(making)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            leaving = asyncio.ensure_future(_delete(task))
            self._leaving.add(leaving)
            leaving.add_done_callback(self._leaving.discard)
            raise

    async def settle(self) -> None:
        """Wait for the machines that no one waited for to be gone."""
        while self._leaving:
            await asyncio.wait(self._leaving)

    def next_name(self) -> str:
        """A name that was never used."""
        return machine_name(self.session, next(self._numbers))


class Vm:
    """A microVM of ours. What changes it happens one after the other; commands run side by side."""

    def __init__(
        self,
        name: str,
        handle: Machine,
        fleet: Fleet,
        parent: Vm | None,
        process: psutil.Process | None,
        *,
        branchable: bool,
        keeps: bool = False,
    ) -> None:
        self.name = name
        """As smolvm knows it."""
        self.handle = handle
        self.parent = parent
        self.process = process
        """Its VMM."""
        self.branchable = branchable
        self.keeps = keeps
        """Whether its disk is kept when the session ends."""
        self.branches: set[Vm] = set()
        """Those that were branched from it and still exist."""
        self.frozen = False
        self.ended = False
        self.deleted = False
        self._fleet = fleet
        self._changing = asyncio.Lock()
        self._streams: set[ExecStream] = set()
        fleet.vms.add(self)
        if process:
            session_is_worth_as_much(process.pid)
        if parent is not None:
            parent.branches.add(self)

    @property
    def alive(self) -> bool:
        """Whether its VMM runs."""
        return not self.ended and not self.deleted and vmm.alive(self.process)

    async def run(
        self,
        argv: Sequence[str],
        options: ExecOptions,
        on_output: OnOutput | None = None,
        *,
        keep_output: bool = True,
    ) -> Finished:
        """Run a program to its end; cancelling kills all that it started.

        One that ran into `options.timeout` ends as `cut_short` tells.

        Raises:
            MachineError: it could not be started.
            MachineDiedError: the machine ended meanwhile.
        """
        self._check()
        if self.frozen:
            raise MachineError(f"{self.name} is frozen and runs nothing", "branch it and run that there")
        stream: ExecStream | None = None
        try:
            stream = await in_thread(self.handle.exec_stream, list(argv), options)
            self._streams.add(stream)
            finished = await follow(stream, on_output, keep_output)
        except (StreamError, SmolError) as error:
            raise await self.failure(str(error)) from None
        finally:
            if stream is not None:
                self._streams.discard(stream)
                stream.close()
        if finished is None:
            raise await self.failure("the command was ended, for its machine was frozen or deleted")
        return finished

    async def branch(self, *, freeze: bool = True) -> Vm:
        """A machine that starts as this one is now, processes included.

        Args:
            freeze: Freeze this one for good, which makes all further branches quick and alike. Commands still
                running in it are ended. When False, it goes on undisturbed, and its memory is copied.

        Raises:
            MachineError: it cannot be branched. One that was not frozen before goes on.
            MachineDiedError: it is lost.
        """
        return await self._fleet.owned(self._branch(freeze or self.frozen))

    async def _branch(self, freeze: bool) -> Vm:
        async with self._changing:
            self._check()
            if not self.branchable:
                raise MachineError("a machine made from a packed one cannot be branched")
            was_frozen, self.frozen = self.frozen, freeze
            if freeze:
                self._end_commands()  # they would wait for a frozen machine for ever
            name = self._fleet.next_name()
            try:
                # Every branch can be branched itself: a trial's machine is frozen once its agent is done.
                handle = await in_thread(self.handle.branch, name, branchable=True, freeze_source=freeze)
            except SmolError as error:
                await in_thread(remove_traces, name)
                if not was_frozen and await self._answers():
                    self.frozen = False
                raise await self.failure(f"the microVM could not be branched: {error}") from None
            return Vm(name, handle, self._fleet, self, await in_thread(vmm.find, name), branchable=True)

    async def end(self) -> None:
        """Remove it, now or, where branches of it exist, with the last of them. Idempotent.

        Its VMM lives until then: smolvm forgets a machine whose VMM ended, and then cannot branch what was
        branched from it.

        Raises:
            MachineError: smolvm refuses.
        """
        self.ended = True
        self._end_commands()
        if not self.branches:
            await self.delete()

    async def stop(self, timeout: float) -> None:
        """End it and keep its disk, for `Fleet.start`.

        Args:
            timeout: Seconds until it is killed; its disk then is as after a power cut.
        """
        async with self._changing:
            self._end_commands()
            with contextlib.suppress(SmolError, TimeoutError):
                async with asyncio.timeout(timeout):
                    await in_thread(self.handle.stop, timeout_secs=timeout)
            vmm.kill(self.process)
            self.ended = self.deleted = True
            self._fleet.vms.discard(self)

    async def delete(self) -> None:
        """End and remove it. Idempotent.

        Raises:
            MachineError: machines branched from it exist, or smolvm refuses.
        """
        await to_the_end(self._delete())

    async def _delete(self) -> None:
        async with self._changing:
            if self.deleted:
                return
            if self.branches:
                names = ", ".join(sorted(vm.name for vm in self.branches))
                raise MachineError(f"{self.name} has branches, which go first: {names}")
            self._end_commands()
            vmm.kill(self.process)
            try:
                await in_thread(self.handle.delete)
            except SmolError as error:
                if error.code not in {"NOT_FOUND", "VM_NOT_FOUND"}:
                    raise MachineError(f"{self.name} could not be deleted: {error}") from None
            self.deleted = True
            self._fleet.vms.discard(self)
            await in_thread(remove_traces, self.name)
        if self.parent is not None:
            self.parent.branches.discard(self)
            if self.parent.ended and not self.parent.branches:
                await self.parent.delete()

    async def failure(self, message: str) -> MachineError:
        """What to raise for an error of smolvm's: that the machine died says more than how it was noticed."""
        if "onnection" in message:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_DYING):
                    while self.alive:
                        await asyncio.sleep(0.01)
        if not self.alive:
            return MachineDiedError(f"the microVM ended: {message}")
        return MachineError(message)

    def _check(self) -> None:
        if not self.alive:
            raise MachineDiedError("the microVM has ended")

    def _end_commands(self) -> None:
        for stream in list(self._streams):
            stream.kill()

    async def _answers(self) -> bool:
        with contextlib.suppress(StreamError, SmolError, TimeoutError):
            async with asyncio.timeout(_SILENT):
                stream = await in_thread(self.handle.exec_stream, ["true"], ExecOptions())
                try:
                    return await follow(stream, None, False) is not None
                finally:
                    stream.close()
        return False


def cut_short(finished: Finished) -> bool:
    """Whether a command ended because of its timeout rather than with an exit code of its own."""
    return finished.exit_code == _TIMED_OUT and bool(_CUT_SHORT.search(finished.stderr))


async def to_the_end[T](work: Coroutine[Any, Any, T]) -> T:
    """Await all of `work`, also when cancelled meanwhile; the cancellation is raised after it."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        if not task.cancelled():
            task.exception()
        raise


async def _delete(making: asyncio.Future[Vm]) -> None:
    with contextlib.suppress(Exception):
        await (await making).delete()
