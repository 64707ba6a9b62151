"""Hashes of files, remembered while a file is as it was."""

from __future__ import annotations

import hashlib
import os
import time
from functools import lru_cache

_SETTLED = 2_000_000_000
"""Nanoseconds a file must have rested: two writes within one tick of the clock leave one change time."""


def file_digest(path: str | bytes | os.PathLike[str]) -> str:
    """The SHA-256 of a file's content, in hex; a link is not followed.

    It is read again only when its status changed. The change time is part of that: unlike the modification
    time, no program can put it back, so an edit of the same size within the same second is seen.
    """
    name = os.fspath(path)
    found = os.lstat(name)
    status = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    if time.time_ns() - found.st_ctime_ns < _SETTLED:
        return _read(name)
    return _remembered(name, status)


@lru_cache(maxsize=200_000)
def _remembered(name: str | bytes, status: tuple[int, ...]) -> str:
    return _read(name)


def _read(name: str | bytes) -> str:
    with open(os.open(name, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW), "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
