"""What an author writes about a negative: the keys of `case.toml`, or of a script's first comment."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from workbench.cases.case import Expectation
from workbench.task.problem import Problem
from workbench.task.toml_places import KeyPath, dotted, key_places, syntax_error_place


class CaseKeys(NamedTuple):
    """The keys, with their defaults."""

    why: str = ""
    """What is wrong with the solution."""
    fails: tuple[str, ...] = ()
    """Tests that must fail."""
    output: str = ""
    """A regular expression that the verifier's output must match."""
    expect: Expectation = "fail"
    """`pass` for another correct solution."""


def read_case_keys(text: str, path: str) -> tuple[CaseKeys, tuple[Problem, ...]]:
    """The keys in a TOML text, and all that is wrong with it.

    Args:
        path: The file to name in problems, relative to the task.
    """
    try:
        table: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message = "not TOML: " + re.sub(r" \(at .*\)$", "", str(error)).lower()
        place = syntax_error_place(error, text)
        return CaseKeys(), (Problem(path, "toml-syntax", "error", message, "", *place),)
    if faults := tuple(_faults(table)):
        places = key_places(text)
        return CaseKeys(), tuple(
            Problem(path, "case-key", "error", message, hint, *places.get(key, (None, None)))
            for key, message, hint in faults
        )
    return CaseKeys(**(table | {"fails": tuple(table.get("fails", ()))})), ()


def leading_comment(script: str) -> str:
    """The keys in a script's first block of comment lines, as TOML on the lines and columns they stand on.

    A key starts a line (`# why = "..."`) and may go on over the next ones. Comment lines that are no
    part of one are prose.
    """
    lines = script.splitlines()
    keys: list[str] = []
    entry: list[str] = []
    for number, line in enumerate(lines):
        if number == 0 and line.startswith("#!"):
            keys.append("")
            continue
        if not line.startswith("#"):
            break
        line = " " + line[1:]
        starts = re.match(r"\s*[\w-]+\s*=", line)
        if starts or entry:
            entry = [line] if starts else [*entry, line]
            keys.append(line)
            if _is_toml("\n".join(entry)):
                entry = []
        else:
            keys.append("")
    return "\n".join(keys)


def _is_toml(text: str) -> bool:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return True


def _faults(table: dict[str, Any]) -> Iterator[tuple[KeyPath, str, str]]:
    """For each fault the key, what is wrong and what to do."""
    for key, value in table.items():
        if check := _CHECKS.get(key):
            yield from ((path, f"{dotted(path)} {message}", "") for path, message in check((key,), value))
        else:
            near = difflib.get_close_matches(key, _CHECKS, n=1)
            hint = f"did you mean {near[0]}?" if near else f"the keys are {', '.join(_CHECKS)}"
            yield (key,), f"unknown key {key!r}", hint
    if table.get("expect") == "pass" and table.get("fails"):
        yield ("fails",), "a solution that must pass fails no test", "remove one of fails and expect"


type _Faults = Iterator[tuple[KeyPath, str]]


def _text(path: KeyPath, value: object) -> _Faults:
    if not isinstance(value, str):
        yield path, f"should be a string, not {value!r}"


def _texts(path: KeyPath, value: object) -> _Faults:
    if not isinstance(value, list):
        yield path, f"should be a list of strings, not {value!r}"
        return
    for number, item in enumerate(value):
        if not isinstance(item, str) or not item.strip():
            yield (*path, number), f"should be the name of a test, not {item!r}"


def _pattern(path: KeyPath, value: object) -> _Faults:
    if not isinstance(value, str):
        yield from _text(path, value)
        return
    try:
        re.compile(value)
    except (re.error, OverflowError, RecursionError) as error:
        yield path, f"is not a regular expression: {error}"


def _expectation(path: KeyPath, value: object) -> _Faults:
    if value not in ("pass", "fail"):
        yield path, f'should be "fail" or "pass", not {value!r}'


_CHECKS: dict[str, Callable[[KeyPath, object], _Faults]] = {
    "why": _text,
    "fails": _texts,
    "output": _pattern,
    "expect": _expectation,
}
