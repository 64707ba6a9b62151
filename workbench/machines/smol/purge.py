"""Removing machines for good: at the end of a session, and what a crash left.

Run as `python -m workbench.machines.smol.purge` it removes what dead sessions left. With `--kept` it removes
the machines that are kept when sessions end, and prints their keys; with `--dry-run` it only prints them.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from smol import SmolError

from workbench import places
from workbench.machines.smol import sdk, vmm

APP = "harbor-workbench"
PREFIX = "workbench"
_NAME = re.compile(rf"{PREFIX}-([0-9a-f]{{8}})-\d+")
_LOCK_OF = re.compile(rf"\.({_NAME.pattern})\.fork-operation\.lock")
_KEPT = f"{PREFIX}-kept-"
_POLL = 0.05


def machine_name(session: str, number: int) -> str:
    """The name that smolvm knows a session's machine by. A name is never used twice."""
    return f"{PREFIX}-{session}-{number}"


def kept_name(key: str) -> str:
    """The name that smolvm knows a machine by that is kept when sessions end."""
    return _KEPT + key


def session_of(name: str) -> str | None:
    """The session whose machine this is, None for a machine that is not ours."""
    found = _NAME.fullmatch(name)
    return found[1] if found else None


class SessionLock:
    """Says that a session lives, for as long as its process does, however that ends."""

    def __init__(self, session: str) -> None:
        """
        Raises:
            BlockingIOError: it lives, or is being swept.
        """
        self._path = _locks() / session
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not _is(self._file, self._path):
                raise BlockingIOError(f"{self._path} was removed meanwhile")
        except OSError:
            os.close(self._file)
            raise

    def release(self, *, remove: bool) -> None:
        """Give the lock up. Its file stays while machines of the session may be left."""
        if remove:
            self._path.unlink(missing_ok=True)
        os.close(self._file)


def sweep() -> tuple[str, ...]:
    """Remove all that sessions which ended without doing so left behind; returns the machines' names. Blocks.

    Sessions that live, in this process or another, keep theirs.
    """
    left = {name for name in _names() if session_of(name)}
    dead = {session for name in left if (session := session_of(name))} | set(os.listdir(_locks()))
    gone: list[str] = []
    for session in sorted(dead):
        with contextlib.suppress(BlockingIOError):
            lock = SessionLock(session)
            if empty := purge(session):
                gone += [name for name in left if session_of(name) == session]
            lock.release(remove=empty)
    return tuple(sorted(gone))


def purge(session: str, deadline: float = 60.0) -> bool:
    """Remove every machine of a session, its VMM killed first; the session must make no more. Blocks.

    Args:
        deadline: Seconds after which what is left is let be.

    Returns:
        Whether nothing is left.
    """
    until = time.monotonic() + deadline
    with ThreadPoolExecutor(8, "smol purge") as pool:
        while names := [name for name in _names() if session_of(name) == session]:
            _kill(set(names))
            # Those that others were branched from are refused until the others are gone: leaves first.
            deleted = list(pool.map(_deleted, names))
            if time.monotonic() > until:
                return False
            if not any(deleted):
                time.sleep(_POLL)
    for path in sdk.data_directories().glob(".*.fork-operation.lock"):
        if (found := _LOCK_OF.fullmatch(path.name)) and session_of(found[1]) == session:
            path.unlink(missing_ok=True)
    return True


def forget_kept(but: str = "", *, dry_run: bool = False) -> tuple[str, ...]:
    """Remove kept machines that no session has now; returns their keys. Blocks.

    Args:
        but: The key of one that stays.
        dry_run: Only say which would go.
    """
    gone = []
    for key in sorted({name.removeprefix(_KEPT) for name in _names() if name.startswith(_KEPT)} - {but}):
        with contextlib.suppress(BlockingIOError):
            lock = SessionLock(_KEPT + key)
            if removed := dry_run or _deleted(_KEPT + key):
                gone.append(key)
            lock.release(remove=removed)
    return tuple(gone)


def remove_traces(name: str) -> None:
    """Remove what deleting a machine leaves: the lock of its branching, and a directory without a record."""
    directory = sdk.data_directories()
    (directory / f".{name}.fork-operation.lock").unlink(missing_ok=True)
    for traces in _directories(name):
        shutil.rmtree(traces, ignore_errors=True)


def forget_archives(digests: Iterable[str]) -> None:
    """Remove smolvm's links to archives that no machine was made from, which it never does itself. Blocks."""
    used = {machine.image for machine in sdk.machines()}
    for digest in digests:
        if f"local:{digest}" not in used:
            shutil.rmtree(sdk.archive_directories() / digest, ignore_errors=True)


def _deleted(name: str) -> bool:
    try:
        sdk.delete(name)
    except SmolError:
        return False
    remove_traces(name)
    return True


def _kill(names: set[str]) -> None:
    pids = {machine.pid for machine in sdk.machines() if machine.name in names}
    # smolvm's commands forget a machine whose VMM died; a VMM that was just starting may have no record yet.
    for name in names:
        for directory in _directories(name):
            with contextlib.suppress(OSError, ValueError):
                pids.add(int((directory / "agent.pid").read_text().split()[0]))
    for pid in pids:
        vmm.kill(vmm.process_of(pid))


def _names() -> Iterator[str]:
    """Every machine that has a record or a directory."""
    yield from {
        *(machine.name for machine in sdk.machines()),
        *(name for name, _ in _named_directories()),
    }


def _directories(name: str) -> list[Path]:
    return [directory for found, directory in _named_directories() if found == name]


def _named_directories() -> Iterator[tuple[str, Path]]:
    for path in sdk.data_directories().glob("*/name"):
        with contextlib.suppress(OSError):
            yield path.read_text().strip(), path.parent


def _is(file: int, path: Path) -> bool:
    with contextlib.suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(file), path.stat())
    return False


def _locks() -> Path:
    # Beside smolvm's own files, so that whoever sees the machines sees the locks.
    directory = places.cache_dir() / "smol-sessions"
    directory.mkdir(parents=True, exist_ok=True)
    return directory


def main(arguments: Sequence[str]) -> None:
    """The program."""
    if "--kept" in arguments:
        print(*forget_kept(dry_run="--dry-run" in arguments), sep="\n")
    else:
        sweep()


if __name__ == "__main__":
    main(sys.argv[1:])
