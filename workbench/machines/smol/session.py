"""One engine's microVMs: made, kept, and gone when it ends, whichever way that comes about."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import secrets
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
from smol import ExecOptions, MachineConfig

from workbench.images.digests import file_digest
from workbench.machines.machine import MachineError
from workbench.machines.smol import vmm
from workbench.machines.smol.machine import SmolMachine, SmolState
from workbench.machines.smol.purge import SessionLock, forget_archives, forget_kept, kept_name, purge, sweep
from workbench.machines.smol.sdk import in_thread
from workbench.machines.smol.vm import Fleet
from workbench.machines.states import Budget, StateTree

LABEL = "smol: microVMs"
LIMITS = ("cores are given whole, disk in whole GiB",)
_GUARD = 'read -r _; exec "$@"'
_WARM = ExecOptions(timeout=60)


class SmolSession:
    """Makes microVMs, and ends them all. Use it in one event loop."""

    def __init__(self, budget: Budget = Budget()) -> None:  # noqa: B008 (frozen)
        """Take a name, hold it, and see to it that nothing of it outlives this process.

        Args:
            budget: Of the states that are kept.
        """
        self.id, self._lock = _new_session()
        self.states = StateTree(budget)
        self._fleet = Fleet(self.id)
        self._images: dict[str, asyncio.Task[None]] = {}
        self._archives: set[str] = set()
        self._kept: dict[str, SessionLock] = {}
        # A frozen VMM does not notice that its creator died, so a shell waits for that: when the pipe closes,
        # it becomes the sweep.
        self._guard = subprocess.Popen(
            ["/bin/sh", "-c", _GUARD, "sh", sys.executable, "-P", "-m", "workbench.machines.smol.purge"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    async def create(self, name: str, config: MachineConfig) -> SmolMachine:
        """A new machine.

        Args:
            name: Unique in the engine.
            config: What it is made of; its name, labels and whether it can be branched are set here.

        Raises:
            MachineError: it did not start.
        """
        return SmolMachine(name, await self._fleet.boot(config))

    async def kept(self, name: str, identity: str, config: MachineConfig) -> SmolMachine:
        """A machine that is stopped when the session ends, and goes on from its disk in the next that asks.

        Where another session has it now, one that ends with this session.

        Args:
            name: Unique in the engine.
            identity: Names the content of its image. Machines kept of others are removed.
            config: As for `create`.

        Raises:
            MachineError: it did not start.
        """
        key = _key(identity, config)
        if key not in self._kept:
            await in_thread(forget_kept, key)
            try:
                self._kept[key] = await in_thread(SessionLock, kept_name(key))
            except BlockingIOError:
                return await self.create(name, config)
        return SmolMachine(name, await self._fleet.start(kept_name(key), config))

    async def image_state(self, identity: str, config: MachineConfig) -> str:
        """The key of the state that an image's machines start from, made if there is none.

        Booted once however many ask at once, warmed, and never used for anything but branching.

        Args:
            identity: Names the image's content.
            config: What the machine is made of.

        Raises:
            MachineError: it did not start.
        """
        key = _key(identity, config)
        if self.states.get(key) is None:
            making = self._images.get(key)
            if making is None:
                making = self._images[key] = asyncio.create_task(self._make_image_state(key, config))
                making.add_done_callback(lambda _: self._images.pop(key, None))
            await asyncio.shield(making)
        return key

    async def _make_image_state(self, key: str, config: MachineConfig) -> None:
        vm = await self._fleet.boot(config)
        archive = Path(config.image or "")
        if await in_thread(archive.is_file):
            self._archives.add(await in_thread(file_digest, archive))
        try:
            # Files written before the first command may land beside the image's file system.
            warmed = await vm.run(["/bin/sh", "-c", ":"], _WARM)
            if warmed.exit_code:
                said = warmed.stderr.decode(errors="replace").strip()
                raise MachineError(f"{config.image} has no working /bin/sh: {said or warmed.exit_code}")
        except BaseException:
            with contextlib.suppress(MachineError):
                await vm.delete()
            raise
        await self.states.keep(key, SmolState(vm, vmm.usage(vm.process).memory_bytes))
        await in_thread(forget_archives, set(self._archives))

    def sweep(self) -> tuple[str, ...]:
        """Remove what sessions that ended badly left; returns the machines' names. Blocks."""
        return sweep()

    async def close(self, deadline: float = 10.0) -> None:
        """Delete every machine and state, and stop those that are kept. Idempotent.

        Args:
            deadline: Seconds; what is left then goes when this process ends.
        """
        if self._fleet.closed:
            return
        self._fleet.closed = True
        for making in self._images.values():
            making.cancel()
        stopping = asyncio.gather(*(vm.stop(deadline) for vm in tuple(self._fleet.vms) if vm.keeps))
        empty = await in_thread(purge, self.id, deadline)
        await stopping
        for lock in self._kept.values():
            lock.release(remove=True)
        if empty:
            with contextlib.suppress(TimeoutError):
                # A machine that was being made fails when its VMM is killed, or comes after all.
                await asyncio.wait_for(self._fleet.settle(), deadline)
            empty = await in_thread(purge, self.id, deadline)
        await in_thread(forget_archives, set(self._archives))
        self._lock.release(remove=empty)
        assert self._guard.stdin is not None
        if empty:
            self._fleet.vms.clear()
            self._guard.kill()
            await in_thread(self._guard.wait)
        self._guard.stdin.close()

    def names(self) -> Sequence[str]:
        """smolvm's names of all that exists now, states included."""
        return sorted(vm.name for vm in self._fleet.vms)


def _new_session() -> tuple[str, SessionLock]:
    while True:
        name = secrets.token_hex(4)
        with contextlib.suppress(BlockingIOError):
            return name, SessionLock(name)


def _key(identity: str, config: MachineConfig) -> str:
    resources = config.resources
    parts = {
        "image": identity,
        "resources": vars(resources) if resources else None,
        "network": config.network,
        "env": config.env,
        "workdir": config.workdir,
        "user": config.user,
        "command": config.command,
    }
    return hashlib.sha256(msgspec.json.encode(parts, order="deterministic")).hexdigest()[:32]
