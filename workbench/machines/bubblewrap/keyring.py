"""Keeps the caller's kernel keyring out of machines; as a script, for the command that follows.

A session keyring (session-keyring(7)) is handed down to children whatever namespaces they enter, and whoever
has it can read what is in it: tokens, tickets, keys of file systems. No program that every host has can join
another, so this makes the system call.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys

_LIBC = ctypes.CDLL(None)
_NUMBER = {"x86_64": 250, "aarch64": 219}.get(platform.machine())
"""Of keyctl(2)."""
_JOIN_SESSION_KEYRING = 1


def forget_keys() -> None:
    """Give this thread a session keyring that is new and empty; what it starts from now on inherits that.

    Does nothing where a container forbids it, as such a container forbids to use keys at all.
    """
    if _NUMBER is not None:
        _LIBC.syscall(_NUMBER, _JOIN_SESSION_KEYRING, None)


if __name__ == "__main__":
    forget_keys()
    os.execv(sys.argv[1], sys.argv[1:])
