"""What machines stand on: an image's file system, or the tools of the host.

A base is a list of mounts, each a stack of host directories that nothing writes to. It is never `/` of the
host: only its programs (`/usr`) and a copy of those files in `/etc` that every user may read, so that
nothing else of it can be seen.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import stat
from pathlib import Path

import msgspec

from workbench.images.cache import Cache
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


async def host_tools(cache: Path, *, root: bool) -> Base:
    """A base of this host's own tools. Takes 10 ms; the first time, and when /etc has changed, up to 1 s.

    Args:
        cache: Only `cache/host` is written.
        root: Whether host files of root belong to root in a machine too.

    Raises:
        MachineError: it cannot be written.
    """
    key = await asyncio.to_thread(_host_key, root)

    async def make(directory: Path) -> None:
        await asyncio.to_thread(_make_host_tools, directory, root)

    try:
        store = Cache(cache / "host")
        hold = await store.get(key, make)
        for name in store.names():
            if name != key:
                store.remove(name)
    except OSError as error:
        raise MachineError(f"{error.filename}: {error.strerror}", "choose another XDG_CACHE_HOME") from None
    usr = ("/usr",) if root else ("/usr", str(hold.path / "usr"))
    mounts = (Mount("/", (str(hold.path / "root"),)), Mount("/usr", usr))
    readonly = tuple(str(path) for path in _program_directories() if not path.is_symlink())
    return Base(mounts, readonly, workdir=HOST_WORKDIR, image=False, key=key, keep=hold)


def _host_key(root: bool) -> str:
    """Changes when what is made of the host changes."""
    hashed = hashlib.sha256(f"1 {root} {[str(path) for path in _program_directories()]}".encode())
    for directory, names, files in os.walk("/etc"):
        names.sort()
        for name in sorted([*names, *files]):
            path = os.path.join(directory, name)
            status = os.lstat(path)
            hashed.update(
                f"{path} {status.st_mode} {status.st_size} {status.st_mtime_ns}".encode(errors="replace")
            )
    if not root:
        for first in _directories(Path("/usr")):
            hashed.update(f"{sorted(_directories(first))}".encode(errors="replace"))
    return hashed.hexdigest()[:32]


def _make_host_tools(directory: Path, root: bool) -> None:
    skeleton = directory / "root"
    _make(directory, "root", *(f"root/{name}" for name in _EMPTY))
    _make(directory, *(f"root/{name}" for name in _SCRATCH), mode=0o1777)
    _make(directory, "root/root", mode=0o700)
    (skeleton / "var/run").symlink_to("/run")
    _copy_readable(Path("/etc"), skeleton / "etc")
    _write_shadow(skeleton / "etc")
    for path in _program_directories():
        if path.is_symlink():
            (skeleton / path.name).symlink_to(path.readlink())
        else:
            _make(skeleton, path.name)
    if not root:
        _own_directories(Path("/usr"), directory / "usr")


def _program_directories() -> list[Path]:
    """Such as /bin and /lib64: links into /usr on most hosts, directories on old ones."""
    names = sorted(os.listdir("/"))
    found = [Path("/", name) for name in names if name in ("bin", "sbin") or name.startswith("lib")]
    return [path for path in found if path.is_dir() and path.name != "lost+found"]


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
    _make(directory, "logs", "tests", "solution", "etc")
    _make(directory, *(f"logs/{name}" for name in _LOGS), mode=0o777)
    etc = directory / "etc"
    hosts = f"127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n127.0.1.1\t{hostname}\n"
    (etc / "hostname").write_text(hostname + "\n")
    (etc / "hosts").write_text(hosts)
    (etc / "resolv.conf").write_text(_resolv_conf())
    for file in etc.iterdir():
        file.chmod(0o644)


def _resolv_conf() -> str:
    try:
        return Path("/etc/resolv.conf").read_text()
    except OSError:
        return ""


def _make(parent: Path, *names: str, mode: int = 0o755) -> None:
    """Make directories with just that mode, whatever this process's umask."""
    for name in names:
        (parent / name).mkdir(parents=True, exist_ok=True)
        (parent / name).chmod(mode)


def _copy_readable(source: Path, target: Path) -> None:
    """Copy what every user may read: it may hold no secret, and this process may be root."""
    _make(target.parent, target.name)
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
    for first in (source, *_directories(source)):
        _make(target, str(first.relative_to(source)))
        for second in _directories(first):
            _make(target, str(second.relative_to(source)))
    for directory, _, _ in os.walk(source / "local"):
        _make(target, os.path.relpath(directory, source))


def _directories(parent: Path) -> list[Path]:
    try:
        return [Path(entry.path) for entry in os.scandir(parent) if entry.is_dir(follow_symlinks=False)]
    except PermissionError:
        return []
