"""What a task directory holds at a moment, by content: never by time."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import time
import tomllib
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
from harbor.models.task.config import EnvironmentConfig, TaskConfig
from harbor.models.task.file_filter import TaskFileFilter
from harbor.models.task.paths import TaskPaths
from harbor.models.task.verifier_mode import (
    VerifierEnvironmentDefinition,
    resolve_verifier_environment_definition,
)

from workbench.task.ignored import is_ignored

type Digest = str
"""Hexadecimal SHA-256, over kind, mode and content."""

_NEGATIVES = "negatives/"
_CASE_KEYS = "case.toml"
_CACHED_FILES = 100_000
_SETTLED_NS = 2_000_000_000
"""A file that changed less than this ago may change again with the same times, as file systems round them."""

_digests: dict[tuple[int, ...], str] = {}
"""Digests of file contents, or of what one says about judging, by device, inode, size and times."""


class VerifierPlace(msgspec.Struct, frozen=True):
    """Where a separate verifier comes from."""

    directory: str
    """Relative to the task; an image is built from it unless the environment names one."""
    environment: EnvironmentConfig
    """What Harbor makes of all that task.toml and the directories say."""
    bundled_tests: bool
    """The image has the tests, so Harbor uploads none."""


class Snapshot(msgspec.Struct, frozen=True, eq=False):
    """A task directory at a moment. Compared by identity: see `workbench.task.roles` for what differs."""

    entries: dict[str, Digest]
    """All files, links, directories and others by POSIX path, without what is no part of a task."""
    excluded: frozenset[str]
    """Entries that `.harborignore` keeps from being uploaded."""
    config: TaskConfig | None
    """None where task.toml cannot be read."""
    verifiers: tuple[VerifierPlace | None, ...] = (None,)
    """For each step (or the single one) of its separate verifier; None for a shared one."""

    @classmethod
    def of(cls, task_dir: Path) -> Snapshot:
        """Take one now. What vanishes or cannot be read meanwhile is left out; this never raises.

        A directory that links to another within the task has the entries of its target.
        """
        root = task_dir.resolve()
        entries = dict(_walk(root, "", (root,)))
        config = _config(root)
        return cls(entries, _excluded(root, entries), config, _verifiers(root, config))

    def still_holds(self, task_dir: Path, script: str) -> bool:
        """Whether the directory is still so, as far as a case may depend on it that runs `script`.

        What other cases have in `negatives` is not looked at: there may be many, and this is asked for each.
        """
        own = "/".join(script.split("/")[:2])

        def is_of_others(path: str) -> bool:
            return path.startswith(_NEGATIVES) and not f"{path}/".startswith(f"{own}/")

        root = task_dir.resolve()
        was = {path: digest for path, digest in self.entries.items() if not is_of_others(path)}
        return was == dict(_walk(root, "", (root,), is_of_others))

    def beneath(self, directory: str) -> Iterator[str]:
        """The paths of all entries in a directory and below it."""
        prefix = f"{directory}/"
        return (path for path in self.entries if path.startswith(prefix))


def _walk(
    root: Path,
    prefix: str,
    ancestors: tuple[Path, ...],
    is_left_out: Callable[[str], bool] = lambda path: False,
) -> Iterator[tuple[str, Digest]]:
    try:
        with os.scandir(root / prefix) as found:
            children = sorted(found, key=lambda child: os.fsencode(child.name))
    except OSError:
        return
    for child in children:
        path = f"{prefix}{child.name}"
        if is_left_out(path) or is_ignored(child.name):
            continue
        try:
            entry = child.stat()
        except OSError:
            entry = child.stat(follow_symlinks=False)  # a link to nowhere
        link = os.readlink(child.path) if child.is_symlink() else ""
        try:
            if stat.S_ISDIR(entry.st_mode):
                target = Path(child.path).resolve() if link else root / path
                yield path, _digest("directory", link, oct(entry.st_mode))
                if target not in ancestors and target.is_relative_to(ancestors[0]):
                    yield from _walk(root, f"{path}/", (*ancestors, target), is_left_out)
            elif stat.S_ISREG(entry.st_mode):
                yield path, _digest("file", link, oct(entry.st_mode), _file_digest(child.path, path, entry))
            else:
                yield path, _digest("other", link, oct(entry.st_mode))
        except OSError:
            continue


def _digest(*parts: str) -> Digest:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()


def _file_digest(file: str, path: str, found: os.stat_result) -> str:
    judging = path.startswith(_NEGATIVES) and path.endswith(f"/{_CASE_KEYS}")
    if known := _digests.get(_identity(found, judging)):
        return known
    with open(file, "rb") as opened:
        before = os.fstat(opened.fileno())
        if judging:
            digest = _expectation_digest(opened.read())
        else:
            digest = hashlib.file_digest(opened, "sha256").hexdigest()
    if time.time_ns() - max(before.st_mtime_ns, before.st_ctime_ns) > _SETTLED_NS:
        if len(_digests) >= _CACHED_FILES:
            _digests.clear()
        _digests[_identity(before, judging)] = digest
    return digest


def _identity(found: os.stat_result, judging: bool) -> tuple[int, ...]:
    """Another for a file of another content."""
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns, judging


def _expectation_digest(data: bytes) -> str:
    """Of what a negative's `case.toml` says about judging it, which `why` does not."""
    try:
        keys = tomllib.loads(data.decode("utf-8"))
    except ValueError:
        return hashlib.sha256(data).hexdigest()
    keys.pop("why", None)
    return hashlib.sha256(json.dumps(keys, sort_keys=True, default=str).encode()).hexdigest()


def _config(root: Path) -> TaskConfig | None:
    try:
        if not stat.S_ISREG((root / TaskPaths.CONFIG_FILENAME).stat().st_mode):
            return None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return TaskConfig.model_validate_toml((root / TaskPaths.CONFIG_FILENAME).read_text("utf-8"))
    except Exception:  # why it cannot be read is `load`'s to tell
        return None


def _excluded(root: Path, entries: dict[str, Digest]) -> frozenset[str]:
    if not any(path.rpartition("/")[2] == TaskFileFilter.IGNORE_FILENAME for path in entries):
        return frozenset()
    file_filter = TaskFileFilter(root)
    excluded = set()
    for path in entries:
        try:
            if file_filter.is_excluded(root / path):
                excluded.add(path)
        except (OSError, ValueError, RuntimeError):
            continue
    return frozenset(excluded)


def _verifiers(root: Path, config: TaskConfig | None) -> tuple[VerifierPlace | None, ...]:
    if config is None:
        return (None,)
    paths = TaskPaths(root)
    places: list[VerifierPlace | None] = []
    for step in config.steps or (None,):
        try:
            found = resolve_verifier_environment_definition(config, paths, step, validate_inputs=False)
        except (OSError, ValueError, RuntimeError):
            found = None
        places.append(_verifier_place(root, found) if found else None)
    return tuple(places)


def _verifier_place(root: Path, found: VerifierEnvironmentDefinition) -> VerifierPlace:
    return VerifierPlace(found.directory.relative_to(root).as_posix(), found.config, found.bundled_tests)
