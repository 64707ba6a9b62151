"""What machines stand on: a list of mounts, each a stack of host directories that nothing writes to."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from workbench.images.rootfs import Rootfs
from workbench.machines.machine import MachineError

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Docker's default."""
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
    entrypoint: tuple[str, ...] = ()
    """What runs beside all commands, as long as the machine does."""
    key: str = ""
    """Names the content."""
    image: bool = True
    """False for the tools of the host."""
    limits: tuple[str, ...] = ()
    """What machines on it cannot do, one line each."""
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


def rootfs_base(image: Rootfs, *, single: bool) -> Base:
    """A base of an unpacked image, which is held for as long as the base is.

    Args:
        single: Whether machines have no user but root, so that the image's own cannot be had.

    Raises:
        MachineError: it has no shell.
    """
    root = image.path
    if not any(os.path.lexists(root / name) for name in ("bin/sh", "usr/bin/sh")):
        what = f"{root} has no /bin/sh"
        raise MachineError(what, "Harbor's scripts need a shell: use an image that has one")
    user, limits = image.config.user, []
    if not is_owned(root):
        limits.append(f"the files of {root} are another user's: they cannot be changed")
    if single and user.partition(":")[0] not in ("", "0", "root"):
        limits.append(f"commands run as root, not as the image's user {user}")
        user = ""
    return Base(
        mounts=(Mount("/", (str(root),)),),
        env=image.config.env,
        workdir=image.config.workdir or "/",
        user=user,
        entrypoint=image.config.entrypoint,
        key=image.key,
        limits=tuple(limits),
        keep=image,
    )


def is_owned(path: Path) -> bool:
    """Whether a directory of the host belongs to root in a machine too."""
    return path.stat().st_uid == os.geteuid()


def session_layer(directory: Path, hostname: str, resolv: str, *, single: bool) -> None:
    """What every machine finds beside its image: Harbor's directories, and names for the network.

    Args:
        single: Whether machines have no user but root; apt then has none to download as.
    """
    make_directories(directory, "logs", "tests", "solution", "etc")
    make_directories(directory, *(f"logs/{name}" for name in _LOGS), mode=0o777)
    etc = directory / "etc"
    hosts = f"127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n127.0.1.1\t{hostname}\n"
    (etc / "hostname").write_text(hostname + "\n")
    (etc / "hosts").write_text(hosts)
    (etc / "resolv.conf").write_text(resolv)
    if single:
        make_directories(etc, "apt", "apt/apt.conf.d")
        (etc / "apt/apt.conf.d/99single-user").write_text('APT::Sandbox::User "root";\n')
    for file in etc.rglob("*"):
        file.chmod(0o755 if file.is_dir() else 0o644)


def resolv_conf() -> str:
    """How this host finds others now."""
    try:
        return Path("/etc/resolv.conf").read_text()
    except OSError:
        return ""


def make_directories(parent: Path, *names: str, mode: int = 0o755) -> None:
    """Make directories with just that mode, whatever this process's umask."""
    for name in names:
        (parent / name).mkdir(parents=True, exist_ok=True)
        (parent / name).chmod(mode)
