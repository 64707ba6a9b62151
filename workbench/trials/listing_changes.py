"""What changed in an environment of any kind: its files listed before and after, by `find` and `stat` in it.

What a changed file held before is known only where it is small and was in the working directory.
"""

from __future__ import annotations

import base64
import shlex
from collections.abc import Iterable

import msgspec
from harbor.environments.base import BaseEnvironment

from workbench.trials.file_changes import Changes
from workbench.trials.file_compare import CONTENT_LIMIT, SKIPPED, Comparison, Seen

SECONDS = 10
"""For one listing; a file system that takes longer is not listed."""
_FILES_READ = 200
"""Files whose content is read at once."""
_PRUNED = " -o ".join(f"-path {path}" for path in (*SKIPPED, "/run", "/tmp/.workbench*"))
_LIST = rf"find / -xdev \( {_PRUNED} \) -prune -o -exec stat -c '%f %s %Y.%Z %n' {{}} + 2> /dev/null"
_READ = 'while IFS= read -r f; do printf "=%s\\n" "$f"; base64 < "$f"; done'
_SMALL = f'find "$PWD" -xdev -type f -size -{CONTENT_LIMIT >> 10}k 2> /dev/null | head -n {_FILES_READ}'

type Listing = dict[str, Seen]


async def listing(environment: BaseEnvironment) -> Listing | None:
    """The files of an environment, with the content of small ones in its working directory.

    None where that cannot be had: the file system is too large, or `find`, `stat` or `base64` are missing.
    """
    found = await _list(environment)
    if found is None:
        return None
    read = await _exec(environment, f"{_SMALL} | {_READ}")
    return found | _with_content(found, read or "")


async def changes_since(environment: BaseEnvironment, before: Listing) -> Changes:
    """What changed since a listing."""
    after = await _list(environment)
    if after is None:
        return Changes(notes=("the files could not be listed again",))
    paths = [path for path in before.keys() | after.keys() if before.get(path) != after.get(path)]
    differing = [path for path in sorted(paths) if not _alike(before.get(path), after.get(path))]
    small = [path for path in differing if path in after and after[path].kind == "file"]
    small = [path for path in small if after[path].size <= CONTENT_LIMIT and "\n" not in path][:_FILES_READ]
    if small:
        names = shlex.quote("\n".join(small))
        after |= _with_content(after, await _exec(environment, f"printf '%s\\n' {names} | {_READ}") or "")
    changes = Comparison()
    for path in differing:
        changes.add(path, before.get(path), after.get(path))
    return changes.result()


def _alike(before: Seen | None, after: Seen | None) -> bool:
    """Whether a path is as it was; a directory's time changes with what is in it."""
    if before is None or after is None or before.mode != after.mode:
        return False
    return before.kind != "file" or (before.size, before.version) == (after.size, after.version)


async def _list(environment: BaseEnvironment) -> Listing | None:
    told = await _exec(environment, _LIST)
    if told is None:
        return None
    found: Listing = {}
    for line in told.splitlines():
        mode, size, version, path = [*line.split(" ", 3), "", "", ""][:4]
        if path.startswith("/") and size.isdigit():
            found[path] = Seen(int(mode, 16), int(size), version)
        elif found:
            # The rest of a name with a newline in it, which is better left out.
            found.popitem()
    found.pop("/", None)
    return found or None


async def _exec(environment: BaseEnvironment, command: str) -> str | None:
    try:
        done = await environment.exec(command, user="root", timeout_sec=SECONDS)
    except Exception:
        return None
    return done.stdout or ""


def _with_content(found: Listing, told: str) -> Listing:
    read: Listing = {}
    for path, encoded in _pieces(told.splitlines()):
        seen = found.get(path)
        try:
            content = base64.b64decode("".join(encoded), validate=True)
        except ValueError:
            continue
        if seen and len(content) == seen.size:
            read[path] = msgspec.structs.replace(seen, content=content)
    return read


def _pieces(lines: Iterable[str]) -> Iterable[tuple[str, list[str]]]:
    path, encoded = "", list[str]()
    for line in lines:
        if line.startswith("=/"):
            if path:
                yield path, encoded
            path, encoded = line[1:], []
        else:
            encoded.append(line)
    if path:
        yield path, encoded
