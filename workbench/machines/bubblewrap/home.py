"""Session directories: how they are named and held, and how those of the dead are found."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
from collections.abc import Iterator
from pathlib import Path

_NAME = re.compile(r"[0-9a-f]{8}")
_LOCK = "lock"
_GATE = ".lock"


class Home:
    """A session's directory, `ROOT/<8 hex digits>`, whose `lock` is held while this process lives."""

    def __init__(self, root: Path) -> None:
        """Make one.

        Raises:
            OSError: `root` cannot be written.
        """
        root.mkdir(parents=True, exist_ok=True, mode=0o755)
        with _gate(root):
            self.path = root / secrets.token_hex(4)
            self.path.mkdir()
            self.path.chmod(0o755)
            self._lock = os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX)

    def remove(self) -> None:
        """Remove the directory while it holds nothing but the lock."""
        (self.path / _LOCK).unlink()
        self.path.rmdir()
        self.release()

    def release(self) -> None:
        """Let the directory go, whether it is still there or not. Idempotent."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def abandoned(root: Path) -> list[Path]:
    """Session directories whose process is gone."""
    if not root.is_dir():
        return []
    with _gate(root):
        return [
            path
            for path in sorted(root.iterdir())
            if _NAME.fullmatch(path.name) and path.is_dir() and not path.is_symlink() and _free(path)
        ]


def _free(path: Path) -> bool:
    try:
        lock = os.open(path / _LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return True  # being made goes through the gate, so its removal was cut short
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(lock)
    return True


@contextlib.contextmanager
def _gate(root: Path) -> Iterator[None]:
    """Held for the moments in which a directory has no lock yet."""
    gate = os.open(root / _GATE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(gate, fcntl.LOCK_EX)
        yield
    finally:
        os.close(gate)
