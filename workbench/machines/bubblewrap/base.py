"""What machines stand on: an image's file system, or the tools of the host.

A base is a list of mounts, each a stack of host directories that nothing writes to. It is never `/` of the
host: only its programs (`/usr`) and a copy of those files in `/etc` that every user may read, so that
nothing else of it can be seen.
"""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import msgspec

from workbench.machines.machine import MachineError

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Docker's default."""
HOST_WORKDIR = "/app"
"""Where commands run when there is no image to say so."""
_PRIVATE = frozenset(
    ("environment", "environment.d", "fstab", "hostname", "hosts", "machine-id", "mtab", "resolv.conf")
)
"""What in /etc speaks of this host rather than of its programs."""
_EMPTY = (
    *("dev", "home", "media", "mnt", "opt", "proc", "run", "srv", "sys", "usr"),
    *("var/cache", "var/lib", "var/log", "var/spool"),
)
_SCRATCH = ("tmp", "var/tmp")
_LOGS = ("agent", "artifacts", "verifier")


class Mount(msgspec.Struct, frozen=True):
    """One overlay of a machine."""

    target: str
    """Where it is mounted, `/` or `/usr`."""
    lower: tuple[str, ...]
    """Host directories, the lowest first."""


class Base(msgspec.Struct, frozen=True):
    """A file system that machines share."""

    mounts: tuple[Mount, ...]
    """`/` comes first."""
    readonly: tuple[str, ...] = ()
    """Host directories that are mounted as they are, at the same place."""
    env: dict[str, str] = {}
    workdir: str = "/"
    user: str = ""
    key: str = ""
    """Names the content."""
    image: bool = True
    """False for the tools of the host."""
    keep: object = None
    """Held while machines stand on the base, so that a store does not remove it."""

    @property
    def shell(self) -> str:
        """The path of bash, else of sh."""
        for path in ("/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"):
            for mount in self.mounts:
                inside = path.removeprefix(mount.target.rstrip("/"))
                if any(os.path.lexists(lower + inside) for lower in mount.lower):
                    return path
        return "/bin/sh"


def host_tools(directory: Path, *, root: bool) -> Base:
    """A base of this host's own tools, made in `directory`. Takes 0.1 to 0.5 s.

    Args:
        root: Whether host files of root belong to root in a machine too.
    """
    skeleton = directory / "root"
    for name in _EMPTY:
        (skeleton / name).mkdir(parents=True)
    for name in _SCRATCH:
        (skeleton / name).mkdir()
        (skeleton / name).chmod(0o1777)
    (skeleton / "var/run").symlink_to("/run")
    (skeleton / "root").mkdir(mode=0o700)
    _copy_readable(Path("/etc"), skeleton / "etc")
    _write_shadow(skeleton / "etc")
    readonly = []
    for entry in sorted(Path("/").iterdir()):
        if entry.name in ("bin", "sbin") or entry.name.startswith("lib"):
            if entry.is_symlink():
                (skeleton / entry.name).symlink_to(entry.readlink())
            elif entry.is_dir():
                (skeleton / entry.name).mkdir()
                readonly.append(str(entry))
    usr: tuple[str, ...] = ("/usr",)
    if not root:
        owned = directory / "usr"
        _own_directories(Path("/usr"), owned)
        usr = ("/usr", str(owned))
    mounts = (Mount("/", (str(skeleton),)), Mount("/usr", usr))
    return Base(mounts, tuple(readonly), workdir=HOST_WORKDIR, image=False, key="host")


def rootfs_base(root: Path, *, env: dict[str, str], workdir: str, user: str, key: str, keep: object) -> Base:
    """A base of an unpacked image.

    Raises:
        MachineError: it has no shell.
    """
    base = Base((Mount("/", (str(root),)),), (), env, workdir or "/", user, key, keep=keep)
    if not any(os.path.lexists(root / name) for name in ("bin/sh", "usr/bin/sh")):
        raise MachineError(
            f"{root} has no /bin/sh", "Harbor's scripts need a shell: use an image that has one"
        )
    return base


def session_layer(directory: Path, hostname: str) -> None:
    """What every machine finds beside its image: Harbor's directories, and names for the network."""
    for name in ("logs", "tests", "solution", "etc"):
        (directory / name).mkdir(parents=True)
    for name in _LOGS:
        (directory / "logs" / name).mkdir()
        (directory / "logs" / name).chmod(0o777)
    etc = directory / "etc"
    hosts = f"127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n127.0.1.1\t{hostname}\n"
    (etc / "hostname").write_text(hostname + "\n")
    (etc / "hosts").write_text(hosts)
    (etc / "resolv.conf").write_text(_resolv_conf())


def _resolv_conf() -> str:
    try:
        return Path("/etc/resolv.conf").read_text()
    except OSError:
        return ""


def _copy_readable(source: Path, target: Path) -> None:
    """Copy what every user may read: it may hold no secret, and this process may be root."""
    target.mkdir(mode=0o755)
    for entry in os.scandir(source):
        if entry.name in _PRIVATE:
            continue
        mode = entry.stat(follow_symlinks=False).st_mode
        copy = target / entry.name
        try:
            if stat.S_ISLNK(mode):
                copy.symlink_to(os.readlink(entry.path))
            elif stat.S_ISDIR(mode) and mode & 0o005 == 0o005:
                _copy_readable(Path(entry.path), copy)
            elif stat.S_ISREG(mode) and mode & 0o004:
                shutil.copyfile(entry.path, copy)
                copy.chmod(mode & 0o777)
        except PermissionError:  # an access list says otherwise than the mode
            continue


def _write_shadow(etc: Path) -> None:
    """Accounts without passwords, as `su` and `useradd` want to see them."""
    for public, secret, rest in (("passwd", "shadow", ":*:19000:0:99999:7:::"), ("group", "gshadow", ":*::")):
        names = [line.split(":")[0] for line in (etc / public).read_text().splitlines() if ":" in line]
        (etc / secret).write_text("".join(f"{name}{rest}\n" for name in names))
        (etc / secret).chmod(0o640)


def _own_directories(source: Path, target: Path) -> None:
    """Directories of this user's over the host's, so that files can be made and removed in them.

    The host's own belong to nobody in a user's namespace. Two levels, and all of `local`.
    """
    target.mkdir(parents=True)
    for first in _directories(source):
        (target / first.name).mkdir()
        deep = first.name == "local"
        for second in _directories(first):
            copy = target / first.name / second.name
            if deep:
                _own_tree(second, copy)
            else:
                copy.mkdir()


def _own_tree(source: Path, target: Path) -> None:
    target.mkdir()
    for child in _directories(source):
        _own_tree(child, target / child.name)


def _directories(parent: Path) -> list[Path]:
    try:
        return [Path(entry.path) for entry in os.scandir(parent) if entry.is_dir(follow_symlinks=False)]
    except PermissionError:
        return []
