"""A small image to boot in tests: Debian's bash, python3 and busybox, about 50 MB, one layer.

`python -m tests.microvm.image FILE` makes it on a Debian host with mmdebstrap; takes about 15 s. To be run as
root where users' namespaces are not to be had.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

_SUITE = "trixie"
_BASE = "base-files,base-passwd,bash,bsdutils,busybox-static,libc-bin,util-linux"
_PYTHON = "python3-minimal,libpython3-stdlib"
_LEFT_OUT = (
    *(f"/usr/share/{name}/*" for name in ("doc", "i18n", "locale", "man", "perl5", "zoneinfo")),
    "/usr/lib/*/gconv/*",
    "/usr/bin/dpkg*",
)
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def make(archive: Path) -> None:
    """Make the image at `archive`, a docker-archive.

    Raises:
        FileNotFoundError: there is no mmdebstrap.
        subprocess.CalledProcessError: it failed.
    """
    archive.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=archive.parent) as scratch:
        root = Path(scratch) / "root"
        left_out = [f"--dpkgopt=path-exclude={pattern}" for pattern in _LEFT_OUT]
        # `extract`: no script of a package is run, which would take longer than all the rest.
        subprocess.run(
            [
                "mmdebstrap",
                "--quiet",
                "--variant=extract",
                f"--include={_BASE},{_PYTHON}",
                *left_out,
                _SUITE,
                root,
            ],
            check=True,
        )
        _set_up(root)
        layer = Path(scratch) / "layer.tar"
        with tarfile.open(layer, "w") as tar:
            tar.add(root, arcname=".", filter=_without_devices)
        new = Path(scratch) / "image.tar"
        _wrap(layer, new)
        new.rename(archive)


def unpack(archive: Path, root: Path) -> None:
    """Unpack what `make` made into the directory `root`."""
    with tarfile.open(archive) as tar:
        manifest = json.load(_member(tar, "manifest.json"))
        with tarfile.open(fileobj=_member(tar, manifest[0]["Layers"][0]), mode="r|") as layer:
            layer.extractall(root, filter="fully_trusted")


def _set_up(root: Path) -> None:
    passwd = root / "usr/share/base-passwd"
    shutil.copy(passwd / "passwd.master", root / "etc/passwd")
    shutil.copy(passwd / "group.master", root / "etc/group")
    (root / "srv").mkdir(exist_ok=True)
    # Seen by a VMM that runs as another user than the one who unpacked it.
    (root / "root").chmod(0o755)
    names = subprocess.run(
        [root / "usr/bin/busybox", "--list"], check=True, capture_output=True, text=True
    ).stdout.split()
    for name in names:
        if not any(os.path.lexists(root / "usr" / place / name) for place in ("bin", "sbin")):
            (root / "usr/bin" / name).symlink_to("busybox")


def _wrap(layer: Path, archive: Path) -> None:
    with layer.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    config = json.dumps(
        {
            "architecture": _ARCHITECTURES[platform.machine()],
            "os": "linux",
            "config": {"Env": [f"PATH={path}"], "Cmd": ["bash"]},
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
        }
    ).encode()
    name = f"{hashlib.sha256(config).hexdigest()}.json"
    member = f"{digest}/layer.tar"
    manifest = json.dumps([{"Config": name, "RepoTags": [], "Layers": [member]}]).encode()
    with tarfile.open(archive, "w") as tar:
        for file_name, data in ((name, config), ("manifest.json", manifest)):
            info = tarfile.TarInfo(file_name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
        tar.add(layer, member)


def _without_devices(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    return None if member.isdev() else member


def _member(tar: tarfile.TarFile, name: str) -> io.BufferedReader:
    file = tar.extractfile(name)
    assert isinstance(file, io.BufferedReader)
    return file


if __name__ == "__main__":
    make(Path(sys.argv[1]))
