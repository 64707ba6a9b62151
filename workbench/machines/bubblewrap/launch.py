"""Starting a machine: one long-lived bwrap, whose first process waits for this process to end.

That first process is `cat` on a socket. It ends when the socket's other end is closed, also by kill -9, and
the kernel then ends whatever else runs in the machine. bwrap's own --die-with-parent is not used: it looks
at the thread that started it rather than at the process.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import select
import signal
import socket
import subprocess
from pathlib import Path

import msgspec

from workbench.machines.bubblewrap.base import Base
from workbench.machines.bubblewrap.census import inhabitants
from workbench.machines.bubblewrap.ground import Ground, make_directory
from workbench.machines.bubblewrap.hints import refused
from workbench.machines.bubblewrap.keyring import forget_keys
from workbench.machines.bubblewrap.processes import UMASK, readable, run, signal_all
from workbench.machines.machine import MachineError
from workbench.niceness import session_is_worth_as_much

_PAGE = 4096
_OLD_ROOT = "/oldroot"
"""Where bwrap sees the host's files, and so what it puts before every path."""
_OTHER_OPTIONS = len("lowerdir=,upperdir=/00,workdir=/w00,userxattr") + 16
_FIRST = {
    # What a command leaves behind becomes a child of the first process; SIGCHLD ignored, the kernel reaps it.
    "bash": """[ -d "$0" ] || mkdir -p -- "$0"; trap '' CHLD; exec cat""",
    "sh": """[ -d "$0" ] || mkdir -p -- "$0"; exec cat""",
}
_NAMESPACES = {"mnt": "mount", "pid": "pid", "ipc": "ipc", "uts": "uts", "cgroup": "cgroup", "net": "net"}
_START_TIMEOUT = 30.0
_ENDING = 1.0
"""Seconds that a machine takes to end, at most, if nothing is in the way."""


class Spec(msgspec.Struct, frozen=True):
    """What a machine is to be."""

    base: Base
    session_layer: Path
    layers: tuple[Path, ...] = ()
    """Frozen layers over the base, the lowest first."""
    hostname: str = "machine"
    network: bool = True
    """The host's network; else none but a loopback of its own."""
    env: dict[str, str] = {}
    workdir: str = "/"
    user: str = ""

    def lower(self, number: int) -> list[str]:
        """The host directories under mount `number` of the base, the lowest first."""
        stack = list(self.base.mounts[number].lower)
        if number == 0:
            stack.append(str(self.session_layer))
        return stack + [str(layer / str(number)) for layer in self.layers]

    def too_deep(self, directory: Path) -> bool:
        """Whether mount(2), which takes a page of options, would refuse a machine in such a directory."""
        stacks = [self.lower(number) for number in range(len(self.base.mounts))]
        longest = max(sum(len(_OLD_ROOT) + len(path) + 1 for path in stack) for stack in stacks)
        return longest + 2 * (len(_OLD_ROOT) + len(str(directory))) + _OTHER_OPTIONS > _PAGE


class Running:
    """A machine's processes as the host sees them.

    Attributes:
        pid: Of its first process.
        died: A descriptor that can be read once that process is gone.
        pid_namespace: Inode.
        namespaces: Open descriptors, by nsenter's option name.
    """

    def __init__(self, bwrap: subprocess.Popen[bytes], line: socket.socket, info: dict[str, int]) -> None:
        self._bwrap = bwrap
        self._line = line
        self.pid = info["child-pid"]
        self.pid_namespace = info["pid-namespace"]
        self.died = os.pidfd_open(self.pid)
        self.namespaces: dict[str, int] = {}
        for kind, option in _NAMESPACES.items():
            if f"{kind}-namespace" in info:
                path = f"/proc/{self.pid}/ns/{kind}"
                self.namespaces[option] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    @property
    def alive(self) -> bool:
        """Whether its first process runs."""
        if self.died < 0:
            return False
        poll = select.poll()
        poll.register(self.died, select.POLLIN)
        return not poll.poll(0)

    async def first_ended(self) -> None:
        """Wait until its first process is gone."""
        # A descriptor of its own: the other may be closed meanwhile, and its number given to something else.
        died = os.dup(self.died)
        try:
            await readable(died)
        finally:
            os.close(died)

    def kill(self) -> None:
        """End everything in it, without waiting."""
        if self.died >= 0:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.died, signal.SIGKILL)
        self._line.close()

    def end_now(self) -> None:
        """End everything in it, and block until it has."""
        self.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._bwrap.wait(_START_TIMEOUT)
        self.release()

    async def ended(self) -> None:
        """Wait for that, and let go of what this process held."""
        ending = asyncio.create_task(_reap(self._bwrap))
        while not (await asyncio.wait({ending}, timeout=_ENDING))[0]:
            # Someone inside stopped a shell, and with it the nsenter that should see its end.
            here = await asyncio.to_thread(inhabitants, self.pid_namespace)
            signal_all([p.parent for p in here if p.entered and p.pid != self.pid], signal.SIGKILL)
        self.release()

    def release(self) -> None:
        """Let go of every descriptor. Idempotent."""
        for fd in (self.died, *self.namespaces.values()):
            if fd >= 0:
                os.close(fd)
        self.died = -1
        self.namespaces.clear()


async def launch(ground: Ground, spec: Spec, directory: Path) -> Running:
    """Start a machine whose own changes go to `directory`. Takes about 10 ms.

    Raises:
        MachineError: bwrap or the kernel refuses it.
    """
    line, theirs = socket.socketpair()
    info, info_write = os.pipe()
    try:
        with theirs:
            forget_keys()
            bwrap = subprocess.Popen(
                [*_arguments(ground, spec, directory), "--info-fd", str(info_write), "--", *_first(spec)],
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                stderr=subprocess.PIPE,
                env={},
                pass_fds=(ground.users.owner_fd, info_write),
                start_new_session=True,
                umask=UMASK,
            )
            session_is_worth_as_much(bwrap.pid)
    finally:
        os.close(info_write)
    assert bwrap.stderr is not None
    try:
        with bwrap.stderr:
            async with asyncio.timeout(_START_TIMEOUT):
                told = await _tell(info)
                if told and not spec.network:
                    await _open_low_ports(ground, told["child-pid"])
                if told and await _echoes(line):
                    return Running(bwrap, line, told)
            said = bwrap.stderr.read().decode(errors="replace").strip()
            raise refused(f"the machine did not start: {said or 'bwrap said nothing'}")
    except BaseException as error:
        line.close()
        await asyncio.shield(_reap(bwrap))
        if isinstance(error, TimeoutError):
            raise MachineError(f"the machine did not start within {_START_TIMEOUT:.0f} s") from None
        raise
    finally:
        os.close(info)


async def _tell(info: int) -> dict[str, int]:
    """What bwrap says of the first process, before it mounts anything; empty if it ended instead."""
    said = b""
    while not said.rstrip().endswith(b"}"):
        await readable(info)
        piece = os.read(info, _PAGE)
        if not piece:
            return {}
        said += piece
    told: dict[str, int] = json.loads(said)
    return told


async def _echoes(line: socket.socket) -> bool:
    """Wait until the first process is `cat`, so that all is mounted; False if it ended instead."""
    line.setblocking(False)
    try:
        line.send(b".")
        await readable(line.fileno())
        return line.recv(1) == b"."
    except (BrokenPipeError, ConnectionResetError):
        return False


async def _open_low_ports(ground: Ground, pid: int) -> None:
    """Let the machine open ports below 1024 on its own network, as root may in a container."""
    script = "echo 0 >/proc/sys/net/ipv4/ip_unprivileged_port_start"
    enter = [*ground.as_owner, ground.programs.nsenter, f"--net=/proc/{pid}/ns/net", "--"]
    await run([*enter, "/bin/sh", "-c", script], env={})


async def _reap(bwrap: subprocess.Popen[bytes]) -> None:
    """Wait for bwrap, which ends with its machine."""
    if bwrap.returncode is None:
        pidfd = os.pidfd_open(bwrap.pid)
        try:
            await readable(pidfd)
        finally:
            os.close(pidfd)
        bwrap.wait()


def _first(spec: Spec) -> list[str]:
    shell = spec.base.shell
    return [shell, "-c", _FIRST[os.path.basename(shell)], spec.workdir]


def _arguments(ground: Ground, spec: Spec, directory: Path) -> list[str]:
    words = [ground.programs.bwrap, "--userns", str(ground.users.owner_fd)]
    words += ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    words += ["--hostname", spec.hostname, "--as-pid-1", "--cap-drop", "ALL"]
    if not spec.network:
        words.append("--unshare-net")
    for number, mount in enumerate(spec.base.mounts):
        upper, work = directory / str(number), directory / f"w{number}"
        make_directory(upper)
        work.mkdir()
        for lower in spec.lower(number):
            words += ["--overlay-src", lower]
        words += ["--overlay", str(upper), str(work), mount.target]
    for path in spec.base.readonly:
        words += ["--ro-bind", path, path]
    words += ["--dev", "/dev", "--perms", "1777", "--tmpfs", "/dev/shm"]
    return [*words, *_KERNEL]


def _kernel_views() -> list[str]:
    """Arguments for /proc and /sys: as in a Docker container, but for /sys, of which little is needed.

    Root in a machine may be root of the host, whose own files these are; bwrap itself guards /proc/bus,
    /proc/irq and /proc/sysrq-trigger.
    """
    words = ["--proc", "/proc"]
    for path in ("/proc/sys", "/proc/fs", "/sys/devices/system", "/sys/kernel/mm"):
        words += ["--ro-bind-try", path, path]
    for name in ("kcore", "keys", "key-users", "latency_stats", "mtrr", "sched_debug", "timer_list"):
        if os.path.exists(f"/proc/{name}"):
            words += ["--dev-bind", "/dev/null", f"/proc/{name}"]
    for name in ("acpi", "asound", "scsi"):
        if os.path.exists(f"/proc/{name}"):
            words += ["--tmpfs", f"/proc/{name}", "--remount-ro", f"/proc/{name}"]
    return words


_KERNEL = _kernel_views()
