"""Where things are in a trial directory, which is Harbor's, and how to read them without harm.

What is in there came out of a machine: it may be huge, or a link to somewhere else.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from workbench.events import OutputSource
from workbench.session import Run
from workbench.trials.content_kind import SNIFFED, content_kind

_NAMES: dict[OutputSource, tuple[str, ...]] = {
    "verifier": ("verifier/test-stdout.txt",),
    "agent": ("agent/oracle.txt",),
    "environment": (),
}
_NO_LOGS = {"exit-code.txt"}
_READ_LIMIT = 1024 * 1024
FILES_LIMIT = 5000
"""Files listed of one trial."""
_GONE = "What this run left is not here: a recording has none of it, and older runs may have been forgotten."

type FileKind = Literal["text", "image", "binary", "link", "directory", "missing"]


class _Raised(msgspec.Struct):
    exception_traceback: str = ""


class _Step(msgspec.Struct):
    step_name: str
    exception_info: _Raised | None = None


class _Result(msgspec.Struct):
    """What is read here of Harbor's result."""

    step_results: list[_Step] | None = None


@dataclass(frozen=True)
class TrialFile:
    """One file of a trial directory."""

    path: str
    """Relative to the trial directory."""
    size: int
    """Bytes."""
    kind: FileKind
    what: str = ""
    """What it is, where it is no text: "PNG image", or where a link leads."""


@dataclass(frozen=True)
class Artifact:
    """An artifact that was declared, as the manifest tells what became of it."""

    source: str
    destination: str
    status: str
    """`ok`, `failed`, `empty` or `skipped`."""
    step: str = ""
    """The step of a multi-step task that it was collected after."""


def roots(trial: Path) -> list[tuple[str, Path]]:
    """The step names and directories of a trial, as they ran; one step without a name where it has none."""
    steps = trial / "steps"
    with suppress(OSError):
        if steps.is_dir() and not steps.is_symlink():
            found = [path for path in steps.iterdir() if path.is_dir() and not path.is_symlink()]
            order = {step.step_name: at for at, step in enumerate(_steps(trial))}
            # Without a result yet, the one that was begun first has had nothing put in it for the longest.
            found.sort(
                key=lambda path: (order.get(path.name, len(order)), path.stat().st_mtime_ns, path.name)
            )
            if found:
                return [(path.name, path) for path in found]
    return [("", trial)]


def step_tracebacks(trial: Path) -> list[tuple[str, str]]:
    """What steps raised, in Harbor's own words, which have no file of their own: by name, the traceback."""
    raised = [(step.step_name, step.exception_info) for step in _steps(trial)]
    return [(name, info.exception_traceback) for name, info in raised if info and info.exception_traceback]


def _steps(trial: Path) -> list[_Step]:
    """The steps in Harbor's result."""
    try:
        result = msgspec.json.decode(read(trial / "result.json"), type=_Result)
    except (msgspec.MsgspecError, RecursionError):
        return []
    return result.step_results or []


def output_files(trial: Path, source: OutputSource) -> list[Path]:
    """The files that hold what a source printed, one for each step; none where there are several for one."""
    found: list[Path] = []
    for _, root in roots(trial):
        its = [root / name for name in _NAMES[source] if is_plain(root / name)]
        if not its and source == "agent":
            # Each agent that Harbor installs keeps what it printed in a file of its own name.
            with suppress(OSError):
                logs = (root / "agent").glob("*.txt")
                its = [path for path in logs if is_plain(path) and path.name not in _NO_LOGS]
        if len(its) > 1:
            return []
        found += its
    return found


def printed(run: Run, source: OutputSource, limit: int = _READ_LIMIT) -> str:
    """What a source printed: as the stream told it, else the end of what the trial directory kept.

    Args:
        limit: Bytes read of a file, at most.
    """
    paths = output_files(Path(run.trial_dir), source) if run.trial_dir and not is_complete(run) else []
    return "".join(read(path, limit) for path in paths) if paths else run.text(source)


def is_complete(run: Run) -> bool:
    """Whether the stream told all that a run printed so far, and none of it was dropped."""
    return not run.recalled and len(run.output) == run.output_seen


def is_plain(path: Path) -> bool:
    """Whether this is a file, and no link to one. What is in another user's directory is none."""
    try:
        return path.is_file() and not path.is_symlink()
    except OSError:
        return False


def read(path: Path, limit: int = _READ_LIMIT) -> str:
    """The end of a text file, at most `limit` bytes; empty when it cannot be read."""
    try:
        if not is_plain(path):
            return ""
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - limit))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""


def gone(run: Run | None) -> str:
    """What stands in place of all that a run left, where its trial directory is not there; else empty."""
    there = run is None or run.state != "ended" or not run.trial_dir or os.path.isdir(run.trial_dir)
    return "" if there else _GONE


def unreadable(error: OSError) -> str:
    """What stands in place of a file that cannot be opened."""
    return f"The file cannot be read: {error.strerror}."


def artifacts(trial: Path) -> list[Artifact]:
    """What became of the declared artifacts, from Harbor's manifests."""
    found: list[Artifact] = []
    for step, root in roots(trial):
        try:
            entries = json.loads(read(root / "artifacts" / "manifest.json") or "[]")
        except (ValueError, RecursionError):
            continue
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, dict):
                told = [str(entry.get(key) or "") for key in ("source", "destination", "status")]
                found.append(Artifact(told[0], told[1], told[2], step))
    return found


def files(trial: Path) -> list[TrialFile]:
    """The files of a trial directory by path, at most `FILES_LIMIT`."""
    found: list[TrialFile] = []
    for path in _walk(trial):
        found.append(_file(trial, path))
        if len(found) >= FILES_LIMIT:
            break
    return sorted(found, key=lambda file: file.path)


def _walk(directory: Path) -> Iterator[Path]:
    try:
        entries = sorted(os.scandir(directory), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(Path(entry.path))
        else:
            yield Path(entry.path)


def _file(trial: Path, path: Path) -> TrialFile:
    name = str(path.relative_to(trial))
    try:
        if path.is_symlink():
            return TrialFile(name, 0, "link", os.readlink(path))
        size = path.lstat().st_size
        if not path.is_file():
            return TrialFile(name, size, "binary", "neither file nor directory")
        with path.open("rb") as file:
            what = content_kind(file.read(SNIFFED))
    except OSError as error:
        return TrialFile(name, 0, "missing", error.strerror or "cannot be read")
    if what == "text":
        return TrialFile(name, size, "text")
    return TrialFile(name, size, "image" if "image" in what else "binary", what)
