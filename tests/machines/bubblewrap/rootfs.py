"""A root file system small enough to make for a test, out of programs of this host."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

_PROGRAMS = ("bash", "cat", "ls", "mkdir", "rm", "sh", "sleep", "tar", "touch", "chmod", "stat", "dirname")


def small_rootfs(root: Path, *more: str) -> Path:
    """A directory with a shell, a few tools, `more` of them and their libraries. Returns `root`."""
    for name in ("bin", "etc", "tmp", "lib64"):
        (root / name).mkdir(parents=True)
    (root / "lib").symlink_to("lib64")
    (root / "etc/passwd").write_text(
        "root:x:0:0:root:/root:/bin/bash\nagent:x:1000:1000::/home/agent:/bin/bash\n"
    )
    (root / "etc/group").write_text("root:x:0:\nagent:x:1000:\n")
    for program in (*_PROGRAMS, *more):
        path = shutil.which(program)
        assert path is not None
        shutil.copy(Path(path).resolve(), root / "bin" / program)
        for library in _libraries(path):
            target = root / library.lstrip("/")
            if not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(Path(library).resolve(), target)
    return root


def _libraries(program: str) -> list[str]:
    said = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    return re.findall(r"(/\S+) \(0x", said)
