"""What users can set: TOML files, the nearest to the task first.

`--config FILE` (or `WORKBENCH_CONFIG`) goes before the task's own `workbench.toml`, and that before the
user's `settings.toml`. A later layer fills in only what an earlier one leaves open; tables are merged.
"""

from __future__ import annotations

import ast
import inspect
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, cast

import msgspec

from workbench import places

USER_FILE = "settings.toml"
TASK_FILE = "workbench.toml"
VARIABLE = "WORKBENCH_CONFIG"
_PROGRAMS = ("editor", "pager")
"""What runs outside of machines. Who opens a task need not trust it."""


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All settings, each with its default."""

    theme: str = ""
    """The theme to begin with; empty for the one that was chosen last, else `night`."""
    wrap: bool = True
    """Whether long lines of output are broken at first."""
    bell: bool = True
    """Whether a bell and a desktop notice tell of a verdict that turned while the terminal had no focus."""
    remember: bool = True
    """Whether the selected case, the tab, the order of cases, marks and pane sizes come back next time."""
    editor: str = ""
    """The command that opens a file; empty for `$VISUAL`, else `$EDITOR`."""
    pager: str = ""
    """The command that shows output page by page; empty for `$PAGER`, else `less -R`."""
    builder: str = ""
    """What builds Dockerfiles, such as `buildah`; empty for the first that works. `--builder` overrides."""
    builder_image: str = ""
    """An image that has buildah, GNU tar and a shell, for a host that has no builder but boots microVMs."""
    keep_states: Annotated[int, msgspec.Meta(ge=0)] = 64
    """How many states are kept that agents left; `--keep-states` overrides."""
    keep_memory: Annotated[int, msgspec.Meta(ge=0)] = 4096
    """How much of the host's memory they may take together, in MiB; `--keep-memory` overrides."""
    keys: dict[str, str] = {}
    """Keys by command, such as `"run.all" = "A,f5"`; the help names the commands."""


@dataclass(frozen=True)
class Fault:
    """What is wrong in a settings file."""

    path: Path
    line: int | None
    message: str

    def __str__(self) -> str:
        where = f"{self.path}:{self.line}" if self.line else str(self.path)
        return f"{where}: {self.message}"


@dataclass(frozen=True)
class Loaded:
    """Settings, and where they come from."""

    settings: Settings
    files: tuple[Path, ...]
    """The files that were read, the nearest first."""
    faults: tuple[Fault, ...]
    """What was left out, and why."""


def files(task: Path | None = None, explicit: Path | None = None) -> list[Path]:
    """Where settings may be, the nearest first, whether or not the files are there."""
    named = _named(explicit)
    found = [named] if named else []
    found += [task / TASK_FILE] if task else []
    return [*found, places.config_dir() / USER_FILE]


def _named(explicit: Path | None) -> Path | None:
    return explicit or (Path(os.environ[VARIABLE]) if os.environ.get(VARIABLE) else None)


def load(
    task: Path | None = None, explicit: Path | None = None, commands: Iterable[str] | None = None
) -> Loaded:
    """The settings for a task.

    A key that is wrong is left out and told as a fault; the others count.

    Args:
        explicit: A file that goes before all others.
        commands: The names that `keys` may have; any when None.
    """
    merged: dict[str, Any] = {}
    read: list[Path] = []
    faults: list[Fault] = []
    known = None if commands is None else tuple(commands)
    for path in files(task, explicit):
        try:
            text = path.read_text("utf-8")
            content = tomllib.loads(text)
        except FileNotFoundError:
            if path == _named(explicit):
                faults.append(Fault(path, None, "there is no such file"))
            continue
        except OSError as error:
            faults.append(Fault(path, None, f"cannot be read: {error.strerror}"))
            continue
        except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            faults.append(Fault(path, _line_of(error), str(error)))
            continue
        read.append(path)
        faults += [Fault(path, _find(text, key), message) for key, message in _check(content, known)]
        if task is not None and path == task / TASK_FILE:
            faults += [Fault(path, _find(text, key), message) for key, message in _refuse_programs(content)]
        for key, value in content.items():
            if isinstance(value, dict) and isinstance(merged.get(key), dict):
                merged[key] = value | merged[key]
            else:
                merged.setdefault(key, value)
    return Loaded(msgspec.convert(merged, Settings), tuple(read), tuple(faults))


def schema() -> bytes:
    """The JSON Schema of a settings file."""
    described = msgspec.json.schema(Settings)
    fields = described["$defs"][Settings.__name__]["properties"]
    for name, description in _docstrings().items():
        fields[name]["description"] = description
    return msgspec.json.format(msgspec.json.encode(described), indent=2) + b"\n"


def _docstrings() -> dict[str, str]:
    """What is said beneath each setting, which Python itself does not keep."""
    (definition,) = ast.parse(inspect.getsource(Settings)).body
    return {
        field.target.id: inspect.cleandoc(said.value.value)
        for field, said in pairwise(cast(ast.ClassDef, definition).body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(said, ast.Expr)
        and isinstance(said.value, ast.Constant)
        and isinstance(said.value.value, str)
    }


def _refuse_programs(content: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Take out what a task may not set."""
    for key in _PROGRAMS:
        if content.pop(key, None) is not None:
            mine = places.config_dir() / USER_FILE
            yield key, f"`{key}`: a task cannot choose a program of this machine; set it in {mine}"


def _check(content: dict[str, Any], commands: tuple[str, ...] | None) -> Iterator[tuple[str, str]]:
    """What is wrong, by key; what is wrong is taken out."""
    types = {field.name: field.type for field in msgspec.structs.fields(Settings)}
    for key, value in list(content.items()):
        if key not in types:
            yield key, f"unknown setting `{key}`{nearest(key, types)}"
            del content[key]
            continue
        if key == "keys" and isinstance(value, dict):
            yield from _check_keys(value, commands)
            continue
        try:
            msgspec.convert(value, types[key])
        except msgspec.ValidationError as error:
            yield key, f"`{key}`: {_lower(str(error))}"
            del content[key]


def _check_keys(keys: dict[str, Any], commands: tuple[str, ...] | None) -> Iterator[tuple[str, str]]:
    for name, value in list(keys.items()):
        if isinstance(value, dict):
            yield name, f'`{name}` in [keys] is a table; commands stand in quotes, as in "run.all" = "A"'
        elif commands is not None and name not in commands:
            yield name, f"unknown command `{name}` in [keys]{nearest(name, commands)}"
        elif not isinstance(value, str):
            yield name, f'`{name}` in [keys]: expected keys such as "A,f5"'
        else:
            continue
        del keys[name]


def nearest(name: str, known: Iterable[str] | Mapping[str, object]) -> str:
    """Words that ask whether a known name was meant; empty where none is near."""
    near = get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f"; did you mean `{near[0]}`?" if near else ""


def _find(text: str, key: str) -> int | None:
    """The line that sets a key."""
    pattern = re.compile(rf"""^\s*(?:\[?\s*)["']?{re.escape(key)}["']?\s*[=.\]]""")
    return next((number for number, line in enumerate(text.splitlines(), 1) if pattern.match(line)), None)


def _line_of(error: Exception) -> int | None:
    found = re.search(r"at line (\d+)", str(error))
    return int(found[1]) if found else None


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
