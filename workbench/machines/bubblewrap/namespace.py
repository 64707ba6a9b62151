"""The two user namespaces of a session.

The *owner* owns every machine's mounts, processes and network. The commands in a machine run in the
*guest*, its child with the same users: root there may chown, kill and switch users as root does, but has
no say over anything that the owner owns, so it cannot mount, remount, rename the host or enter the
machine's first process. The guest may have no namespaces of its own either. That is firmer than a list of
dropped capabilities, and needs no program inside the machine.
"""

from __future__ import annotations

import os
import pwd
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec

from workbench.machines.bubblewrap.hints import refused
from workbench.machines.bubblewrap.programs import Programs

type Mode = Literal["root", "subuid", "single"]
"""Which users a machine has: those of the host by number (`root`), those that the host set aside for this
user in /etc/subuid (`subuid`), or root alone (`single`)."""

USERS = 65536
_CAP_SYS_ADMIN = 21
_HOLD_TIMEOUT = 10.0
_SUBUID, _SUBGID = "/etc/subuid", "/etc/subgid"
_KINDS = ("cgroup", "ipc", "mnt", "net", "pid", "time", "user", "uts")


class Mapping(msgspec.Struct, frozen=True):
    """A line of a uid_map or gid_map: `count` ids from `inside` on are the host's from `outside` on."""

    inside: int
    outside: int
    count: int

    def __str__(self) -> str:
        return f"{self.inside} {self.outside} {self.count}"


class UserNamespace:
    """Both user namespaces, kept while this object is open.

    Attributes:
        mode: Which users there are.
        why: Why it is not a better mode; empty for the best.
        direct: Whether this process has all rights over both by itself: real root, but not that of a
            container which took CAP_SYS_ADMIN away. Others have them only once inside the owner.
    """

    def __init__(self, programs: Programs) -> None:
        """Make both. Takes 15 to 30 ms.

        Raises:
            MachineError: the host does not allow it.
        """
        self._programs = programs
        self._holders: list[tuple[subprocess.Popen[bytes], socket.socket]] = []
        self.owner_fd = -1
        self.mode, uids, gids, self.why = plan(programs)
        self.direct = self.mode == "root" and _has_capability(_CAP_SYS_ADMIN)
        try:
            owner = self._hold([programs.unshare, "--user", "cat"])
            self._map(owner, uids, gids)
            self.owner_fd = os.open(f"/proc/{owner}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
            guest = self._hold([*self.as_owner, programs.unshare, "--user", "cat"])
            self._map_guest(guest, _same(uids), _same(gids))
            self.guest_path = f"/proc/{guest}/ns/user"
        except BaseException:
            self.close()
            raise

    @property
    def as_owner(self) -> tuple[str, ...]:
        """Runs a command of the host as root of the namespace that owns the machines.

        It sees the host's files, with the rights of this process and, in mode `subuid`, those of the
        machine's users: for copying and removing what they own.
        """
        path = f"--user=/proc/{os.getpid()}/fd/{self.owner_fd}"
        keep = ("--preserve-credentials",) if self.mode == "single" else ()
        return (self._programs.nsenter, *keep, path, "--")

    def close(self) -> None:
        """Let both go. Machines keep theirs while they live. Idempotent."""
        for process, connection in self._holders:
            connection.close()
            process.wait()
        self._holders.clear()
        if self.owner_fd >= 0:
            os.close(self.owner_fd)
            self.owner_fd = -1

    def _hold(self, command: list[str]) -> int:
        """Run `cat` in a new namespace until this process ends; what it echoes shows that it is there."""
        ours, theirs = socket.socketpair()
        with theirs:
            process = subprocess.Popen(
                command,
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                stderr=subprocess.PIPE,
                env={},
                start_new_session=True,
            )
        self._holders.append((process, ours))
        ours.settimeout(_HOLD_TIMEOUT)
        assert process.stderr is not None
        with process.stderr:
            if not _answers(ours):
                raise refused(process.stderr.read().decode(errors="replace").strip())
        return process.pid

    def _map(self, pid: int, uids: list[Mapping], gids: list[Mapping]) -> None:
        if self.mode == "subuid":
            for program, lines in ((self._programs.newuidmap, uids), (self._programs.newgidmap, gids)):
                words = [word for line in lines for word in str(line).split()]
                made = subprocess.run([str(program), str(pid), *words], capture_output=True, text=True)
                if made.returncode:
                    raise refused(made.stderr.strip() or f"{program} ended with {made.returncode}")
            return
        try:
            if self.mode == "single":
                Path(f"/proc/{pid}/setgroups").write_text("deny")
            Path(f"/proc/{pid}/uid_map").write_text("\n".join(map(str, uids)))
            Path(f"/proc/{pid}/gid_map").write_text("\n".join(map(str, gids)))
        except OSError as error:
            raise refused(f"setting up the users of a namespace: {error.strerror}") from None

    def _map_guest(self, pid: int, uids: list[Mapping], gids: list[Mapping]) -> None:
        closed = " ".join(f"/proc/sys/user/max_{kind}_namespaces" for kind in _KINDS)
        steps = (
            (self.as_owner, f"{_write(uids)} >/proc/{pid}/uid_map && {_write(gids)} >/proc/{pid}/gid_map"),
            (
                (self._programs.nsenter, "--preserve-credentials", f"--user=/proc/{pid}/ns/user", "--"),
                f"for limit in {closed}; do [ ! -e $limit ] || echo 0 >$limit || exit 1; done",
            ),
        )
        for prefix, script in steps:
            done = subprocess.run([*prefix, "/bin/sh", "-c", script], capture_output=True, text=True, env={})
            if done.returncode:
                raise refused(done.stderr.strip())


def plan(programs: Programs) -> tuple[Mode, list[Mapping], list[Mapping], str]:
    """Which users machines can have here, the maps for that, and what keeps better ones away."""
    uid, gid = os.geteuid(), os.getegid()
    if uid == 0:
        own_uids, own_gids = _own("uid"), _own("gid")
        if sum(line.count for line in own_uids) > 1 and sum(line.count for line in own_gids) > 1:
            return "root", own_uids, own_gids, ""
        return "single", [Mapping(0, 0, 1)], [Mapping(0, 0, 1)], "this container has a single user"
    uids, gids = _set_aside(_SUBUID, uid), _set_aside(_SUBGID, uid)
    name = _name(uid)
    if not (programs.newuidmap and programs.newgidmap):
        why = "there is no newuidmap on this host: install the package uidmap (Debian) or shadow-utils"
    elif uids is None or gids is None:
        free = _free_range()
        why = (
            f"/etc/subuid or /etc/subgid sets no ids aside for {name}: "
            f"sudo usermod --add-subuids {free} --add-subgids {free} {name}"
        )
    else:
        own = [Mapping(0, uid, 1), Mapping(1, uids[0], uids[1])], [Mapping(0, gid, 1), Mapping(1, *gids)]
        return "subuid", *own, ""
    return "single", [Mapping(0, uid, 1)], [Mapping(0, gid, 1)], why


def _answers(holder: socket.socket) -> bool:
    try:
        holder.send(b".")
        return holder.recv(1) == b"."
    except OSError:  # it ended, or hangs
        return False


def _has_capability(number: int) -> bool:
    status = Path("/proc/self/status").read_text()
    effective = next(line for line in status.splitlines() if line.startswith("CapEff:"))
    return bool(int(effective.split()[1], 16) >> number & 1)


def _own(kind: Literal["uid", "gid"]) -> list[Mapping]:
    """The ids of this process's own namespace, each as itself."""
    lines = []
    for line in Path(f"/proc/self/{kind}_map").read_text().splitlines():
        inside, _, count = map(int, line.split())
        if inside < USERS:
            lines.append(Mapping(inside, inside, min(count, USERS - inside)))
    return lines


def _same(lines: list[Mapping]) -> list[Mapping]:
    """These ids as themselves. Line by line, since none may span two lines of the parent's map."""
    return [Mapping(line.inside, line.inside, line.count) for line in lines]


def _write(lines: list[Mapping]) -> str:
    """A shell command that prints a map by a single write(2), as the kernel demands."""
    return "printf '%s\\n' " + " ".join(f"'{line}'" for line in lines)


def _set_aside(file: str, uid: int) -> tuple[int, int] | None:
    """The largest range for this user (first id, count), None where there is none."""
    owners = {str(uid), _name(uid)}
    own = [(first, min(count, USERS - 1)) for owner, first, count in _ranges(file) if owner in owners]
    return max(own, key=lambda item: item[1], default=None)


def _free_range() -> str:
    """Ids that no line of either file gives to anyone, as `FIRST-LAST`."""
    taken = [first + count for file in (_SUBUID, _SUBGID) for _, first, count in _ranges(file)]
    first = max(taken, default=100_000)
    return f"{first}-{first + USERS - 1}"


def _ranges(file: str) -> Iterator[tuple[str, int, int]]:
    """The lines of such a file: owner, first id, count."""
    try:
        lines = Path(file).read_text().splitlines()
    except OSError:
        return
    for line in lines:
        owner, _, rest = line.strip().partition(":")
        first, _, count = rest.partition(":")
        if first.isdecimal() and count.isdecimal() and int(count) > 0:
            yield owner, int(first), int(count)


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
