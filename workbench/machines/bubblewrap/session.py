"""One engine's machines: their directory, their users and their end.

Everything lies under one directory, named by chance and held by a lock for as long as this process lives, so
that a later process knows what a crash left (`sweep`).
"""

from __future__ import annotations

import asyncio
import atexit
import os
import re
from pathlib import Path

import psutil

from workbench import places
from workbench.images.rootfs import rootfs_of
from workbench.machines.bubblewrap.base import Base, resolv_conf, rootfs_base, session_layer
from workbench.machines.bubblewrap.ground import Ground
from workbench.machines.bubblewrap.home import Home, abandoned
from workbench.machines.bubblewrap.host import host_tools
from workbench.machines.bubblewrap.launch import Spec
from workbench.machines.bubblewrap.machine import BubblewrapMachine, start_machine
from workbench.machines.bubblewrap.namespace import Mode
from workbench.machines.bubblewrap.programs import find_programs
from workbench.machines.bubblewrap.state import BubblewrapState
from workbench.machines.bubblewrap.strays import end_strays
from workbench.machines.machine import MachineError

LABEL = "bubblewrap: namespaces, not a VM"
_HOSTNAME_LIMIT = 63
_FIT_FOR_CHANGES = frozenset(("bcachefs", "btrfs", "ext4", "f2fs", "tmpfs", "xfs"))
"""File systems that overlayfs can write to. A container's own, an overlay, is none of them."""
_IN_MEMORY = Path("/dev/shm")


def default_root() -> Path:
    """Where session directories are made."""
    return places.state_dir() / "machines"


def fit_root(wanted: Path, memory: Path = _IN_MEMORY) -> Path:
    """`wanted`, or a directory in memory where `wanted` is on a file system that cannot hold changes."""
    if filesystem(wanted) in _FIT_FOR_CHANGES or filesystem(memory) != "tmpfs":
        return wanted
    own = memory / f"workbench-{os.geteuid()}"
    own.mkdir(mode=0o700, exist_ok=True)
    return own if own.lstat().st_uid == os.geteuid() and not own.is_symlink() else wanted


def filesystem(path: Path) -> str:
    """The type of the file system that `path` is on, or will be; empty when unknown."""
    there = next(parent for parent in (path.absolute(), *path.absolute().parents) if parent.exists())
    mounts = psutil.disk_partitions(all=True)
    over = [mount for mount in mounts if there.resolve().is_relative_to(mount.mountpoint)]
    return max(reversed(over), key=lambda mount: len(mount.mountpoint)).fstype if over else ""


class BubblewrapSession:
    """Makes machines, and ends them all. Use it in one event loop."""

    def __init__(self, root: Path | None = None, cache: Path | None = None) -> None:
        """Make the directory and the users. Takes 20 to 40 ms.

        Args:
            root: Where to make the session's directory; `default_root()` when None.
            cache: Where unpacked images are kept; the image store when None.

        Raises:
            MachineError: a program is missing, or the host does not allow it.
        """
        programs = find_programs()
        try:
            self._wanted = root or default_root()
            home = Home(fit_root(self._wanted))
        except OSError as error:
            what = f"{error.filename}: {error.strerror}"
            raise MachineError(what, "choose another XDG_STATE_HOME") from None
        try:
            self._ground = Ground(home, programs)
        except BaseException:
            home.remove()
            raise
        self._cache = cache or places.images_dir()
        self._host: Base | None = None
        self._making_host = asyncio.Lock()
        self._layers: dict[tuple[str, str], Path] = {}
        self._images: dict[tuple[object, ...], Base] = {}
        self._machines: dict[str, BubblewrapMachine] = {}
        atexit.register(self._close_now)

    @property
    def path(self) -> Path:
        """The session's directory."""
        return self._ground.path

    @property
    def mode(self) -> Mode:
        """Which users machines have."""
        return self._ground.users.mode

    @property
    def better(self) -> str:
        """What would give machines more users; empty where they have all."""
        return self._ground.users.why

    @property
    def as_owner(self) -> tuple[str, ...]:
        """The prefix of a command that unpacks or removes images, where files have their true owners.

        Empty where this process can do that by itself, or where nothing can.
        """
        return () if self.mode == "single" else self._ground.as_owner

    @property
    def limits(self) -> tuple[str, ...]:
        """What it cannot enforce or do here, one line each."""
        limits = [
            "CPU, memory and disk limits are not enforced",
            "a public network is the host's own: its ports, its loopback and its abstract sockets; "
            "ports below 1024 are closed",
            "no network allowlist",
            "states keep files, not running processes",
        ]
        if self.path.parent != self._wanted:
            kind = filesystem(self._wanted)
            limits.append(f"files are kept in memory: {self._wanted} is on {kind}, which cannot hold them")
        if self.mode == "single":
            limits.append("machines have no user but root, so chown, su and some packages fail")
        return tuple(limits)

    async def host_tools(self) -> Base:
        """The base of this host's own tools, made once."""
        async with self._making_host:
            if self._host is None:
                self._host = await host_tools(self._cache)
        return self._host

    async def image(self, reference: str) -> Base:
        """The base of an image: a root directory, or an archive that is unpacked once.

        Raises:
            workbench.images.errors.ImageError: it is none.
            MachineError: machines cannot stand on it.
        """
        key = _identity(reference)
        if key not in self._images:
            root = await rootfs_of(reference, self._cache, prefix=self.as_owner)
            self._images[key] = rootfs_base(root, single=self.mode == "single")
        return self._images[key]

    async def create(
        self,
        name: str,
        base: Base,
        *,
        hostname: str = "machine",
        network: bool = True,
        env: dict[str, str] | None = None,
        workdir: str = "",
        user: str = "",
    ) -> BubblewrapMachine:
        """A new machine. Takes about 10 ms.

        Args:
            name: Unique in the session.
            hostname: Made fit for one where it is not.
            network: The host's network; else none.
            env: Over the image's own variables.
            workdir: Made if missing; the image's own when empty.
            user: The image's own when empty.

        Raises:
            MachineError: the name is taken, or the kernel refuses the machine.
        """
        host = _hostname(hostname)
        spec = Spec(
            base=base,
            session_layer=self._session_layer(host),
            hostname=host,
            network=network,
            env=env or {},
            workdir=workdir or base.workdir,
            user=user or base.user,
        )
        return await self._start(name, spec, None)

    def sweep(self) -> list[Path]:
        """Remove what sessions beside this one left whose process is gone. Blocks; may run in a thread.

        Returns:
            Their directories.
        """
        left = abandoned(self.path.parent)
        for path in left:
            end_strays(path)
        self._ground.remove_now(left)
        return left

    def delete_soon(self, machine: BubblewrapMachine) -> None:
        """Delete a machine in the background, for a caller who has no use for its end."""
        self._ground.later(machine.delete())

    async def settled(self) -> None:
        """Wait until all that was deleted is gone, with its files."""
        await self._ground.drained()

    async def close(self) -> None:
        """Delete every machine and the directory. Idempotent."""
        ending = [machine.delete() for machine in self._machines.values()]
        await asyncio.gather(*ending, return_exceptions=True)
        self._machines.clear()
        await self._ground.drained()
        await asyncio.to_thread(self._ground.close)
        atexit.unregister(self._close_now)

    def _close_now(self) -> None:
        """For a process that ends without having closed its session."""
        for machine in self._machines.values():
            machine.delete_now()
        self._ground.close()

    async def _start(self, name: str, spec: Spec, parent: BubblewrapState | None) -> BubblewrapMachine:
        self._machines = {name: machine for name, machine in self._machines.items() if machine.alive}
        if name in self._machines:
            raise MachineError(f"there is a machine {name} already")
        machine = await start_machine(self._ground, name, spec, parent, self._start)
        self._machines[name] = machine
        return machine

    def _session_layer(self, hostname: str) -> Path:
        key = hostname, resolv_conf()
        if key not in self._layers:
            layer = self._ground.new_directory("l")
            session_layer(layer, *key, single=self.mode == "single")
            self._layers[key] = layer
        return self._layers[key]


def _identity(reference: str) -> tuple[object, ...]:
    """Changes when the file or directory is another; to look into it would take long."""
    try:
        status = Path(reference).expanduser().stat()
    except OSError:
        return (reference,)
    return (reference, status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


def _hostname(wanted: str) -> str:
    return re.sub(r"[^A-Za-z0-9-]+", "-", wanted)[:_HOSTNAME_LIMIT].strip("-") or "machine"
