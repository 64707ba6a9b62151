"""The tools of the host as what machines stand on, where there is no image.

Of the host only its programs (`/usr`) and a copy of those files in `/etc` that every user may read are
there, so that nothing else of it can be seen.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import shutil
import stat
from pathlib import Path

from workbench.images.cache import Cache
from workbench.machines.bubblewrap.base import Base, Mount, is_owned, make_directories
from workbench.machines.machine import MachineError

HOST_WORKDIR = "/app"
"""Where commands run when there is no image to say so."""
_PROGRAMS = Path("/usr")
_PRIVATE = frozenset(
    ("environment", "environment.d", "fstab", "hostname", "hosts", "machine-id", "mtab", "resolv.conf")
)
"""What in /etc speaks of this host rather than of its programs."""
_EMPTY = (
    *("dev", "home", "media", "mnt", "opt", "proc", "run", "srv", "sys", "usr"),
    *("var/cache", "var/lib", "var/log", "var/spool"),
)
_SCRATCH = ("tmp", "var/tmp")


async def host_tools(cache: Path) -> Base:
    """A base of this host's own tools. Takes 10 ms; the first time, and when /etc has changed, up to 1 s.

    Args:
        cache: Only `cache/host` is written.

    Raises:
        MachineError: it cannot be written.
    """
    owned = is_owned(_PROGRAMS)
    key = await asyncio.to_thread(_key, owned)

    async def make(directory: Path) -> None:
        await asyncio.to_thread(_make_tree, directory, owned)

    try:
        store = Cache(cache / "host")
        hold = await store.get(key, make)
        for name in store.names():
            if name != key:
                store.remove(name)
    except OSError as error:
        raise MachineError(f"{error.filename}: {error.strerror}", "choose another XDG_CACHE_HOME") from None
    usr = (str(_PROGRAMS),) if owned else (str(_PROGRAMS), str(hold.path / "usr"))
    mounts = (Mount("/", (str(hold.path / "root"),)), Mount("/usr", usr))
    readonly = tuple(str(path) for path in _program_directories() if not path.is_symlink())
    return Base(mounts, readonly, workdir=HOST_WORKDIR, image=False, key=key, keep=hold)


def _key(owned: bool) -> str:
    """Changes when what is made of the host changes."""
    hashed = hashlib.sha256(f"1 {owned} {[str(path) for path in _program_directories()]}".encode())
    for directory, names, files in os.walk("/etc"):
        names.sort()
        for name in sorted([*names, *files]):
            path = os.path.join(directory, name)
            with contextlib.suppress(OSError):
                status = os.lstat(path)
                line = f"{path} {status.st_mode} {status.st_size} {status.st_mtime_ns}\n"
                hashed.update(line.encode(errors="replace"))
    if not owned:
        for first in _directories(_PROGRAMS):
            hashed.update(f"{sorted(_directories(first))}".encode(errors="replace"))
    return hashed.hexdigest()[:32]


def _make_tree(directory: Path, owned: bool) -> None:
    skeleton = directory / "root"
    make_directories(directory, "root", *(f"root/{name}" for name in _EMPTY))
    make_directories(directory, *(f"root/{name}" for name in _SCRATCH), mode=0o1777)
    make_directories(directory, "root/root", mode=0o700)
    (skeleton / "var/run").symlink_to("/run")
    _copy_readable(Path("/etc"), skeleton / "etc")
    _write_shadow(skeleton / "etc")
    for path in _program_directories():
        if path.is_symlink():
            (skeleton / path.name).symlink_to(path.readlink())
        else:
            make_directories(skeleton, path.name)
    if not owned:
        _own_directories(_PROGRAMS, directory / "usr")


def _program_directories() -> list[Path]:
    """Such as /bin and /lib64: links into /usr on most hosts, directories on old ones."""
    names = sorted(os.listdir("/"))
    found = [Path("/", name) for name in names if name in ("bin", "sbin") or name.startswith("lib")]
    return [path for path in found if path.is_dir() and path.name != "lost+found"]


def _copy_readable(source: Path, target: Path) -> None:
    """Copy what every user may read: it may hold no secret, and this process may be root."""
    make_directories(target.parent, target.name)
    for entry in os.scandir(source):
        if entry.name in _PRIVATE:
            continue
        copy = target / entry.name
        try:
            mode = entry.stat(follow_symlinks=False).st_mode
            if stat.S_ISLNK(mode):
                copy.symlink_to(os.readlink(entry.path))
            elif stat.S_ISDIR(mode) and mode & 0o005 == 0o005:
                _copy_readable(Path(entry.path), copy)
            elif stat.S_ISREG(mode) and mode & 0o004:
                shutil.copyfile(entry.path, copy)
                copy.chmod(mode & 0o777)
        except (PermissionError, FileNotFoundError):
            # An access list says otherwise than the mode, or a program replaced it just now.
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
        make_directories(target, str(first.relative_to(source)))
        for second in _directories(first):
            make_directories(target, str(second.relative_to(source)))
    for directory, _, _ in os.walk(source / "local"):
        make_directories(target, os.path.relpath(directory, source))


def _directories(parent: Path) -> list[Path]:
    try:
        return [Path(entry.path) for entry in os.scandir(parent) if entry.is_dir(follow_symlinks=False)]
    except PermissionError:
        return []
