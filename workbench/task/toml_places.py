"""Where each key and value of a TOML document stands, which neither tomllib nor tomlkit tells."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

type KeyPath = tuple[str | int, ...]
"""Table keys and array indices from the root."""


class Place(NamedTuple):
    """A position in a text, both counted from 1; columns count characters."""

    line: int
    column: int


def place_at(text: str, offset: int) -> Place:
    """The place of the character at `offset`."""
    return Place(text.count("\n", 0, offset) + 1, offset - (text.rfind("\n", 0, offset) + 1) + 1)


def syntax_error_place(error: tomllib.TOMLDecodeError, text: str) -> Place:
    """Where tomllib stopped."""
    if found := re.search(r"\(at line (\d+), column (\d+)\)$", str(error)):
        return Place(int(found[1]), int(found[2]))
    return place_at(text, len(text.rstrip("\n")))


def key_places(text: str) -> dict[KeyPath, Place]:
    """The first place of every table, key and array element.

    Args:
        text: A document that tomllib accepts; of any other, what was read before the fault is told.
    """
    places: dict[KeyPath, Place] = {}
    try:
        for path, offset in _Scanner(text.replace("\r\n", " \n")).document():
            places.setdefault(path, place_at(text, offset))
    except _LostError:
        pass
    return places


def deepest(places: Mapping[KeyPath, Place], path: Sequence[str | int]) -> KeyPath:
    """The parts of `path` that the document has, from the root down.

    Others are passed over, since pydantic puts the names of union members into its paths.
    """
    found: KeyPath = ()
    for part in path:
        if (*found, part) in places:
            found = (*found, part)
    return found


def dotted(path: Sequence[str | int]) -> str:
    """A path as Harbor's lint writes it: `steps[0].agent.timeout_sec`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")


class _LostError(Exception):
    pass


_BLANK = re.compile(r"(?:[ \t\n]|#[^\n]*)*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_STRING = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}' r"|'''.*?'{3,5}" r'|"(?:[^"\\\n]|\\.)*"' r"|'[^'\n]*'", re.DOTALL
)
_SCALAR = re.compile(r"[^,\]}\n#]+")


class _Scanner:
    """Walks a document and yields the path and offset of each thing it meets."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.lengths: dict[KeyPath, int] = {}
        """How many tables each array of tables has so far."""

    def document(self) -> Iterator[tuple[KeyPath, int]]:
        table: KeyPath = ()
        while self.skip_blank():
            if self.text.startswith("[", self.at):
                start, double = self.at, self.text.startswith("[[", self.at)
                self.at += 2 if double else 1
                header = self.resolve(self.key())
                if double:
                    self.lengths[header] = self.lengths.get(header, -1) + 1
                    yield header, start
                    header = (*header, self.lengths[header])
                yield from self.ways_to(header, start)
                table = header
                self.at += 2 if double else 1
            else:
                yield from self.assignment(table)

    def resolve(self, key: KeyPath) -> KeyPath:
        """A header's path with the index of the last table for each array of tables on the way."""
        path: KeyPath = ()
        for number, part in enumerate(key):
            path = (*path, part)
            if number < len(key) - 1 and path in self.lengths:
                path = (*path, self.lengths[path])
        return path

    def ways_to(self, path: KeyPath, offset: int) -> Iterator[tuple[KeyPath, int]]:
        """The path and those it makes on the way."""
        for length in range(1, len(path) + 1):
            yield path[:length], offset

    def assignment(self, table: KeyPath) -> Iterator[tuple[KeyPath, int]]:
        start = self.at
        path = (*table, *self.key())
        for length in range(len(table) + 1, len(path) + 1):
            yield path[:length], start
        self.expect("=")
        yield from self.value(path)

    def key(self) -> KeyPath:
        parts: list[str] = []
        while True:
            self.skip_spaces()
            if found := _BARE_KEY.match(self.text, self.at):
                parts.append(found[0])
            elif found := _STRING.match(self.text, self.at):
                parts.append(tomllib.loads(f"key = {found[0]}")["key"])
            else:
                raise _LostError
            self.at = found.end()
            self.skip_spaces()
            if not self.text.startswith(".", self.at):
                return tuple(parts)
            self.at += 1

    def value(self, path: KeyPath) -> Iterator[tuple[KeyPath, int]]:
        self.skip_spaces()
        if self.text.startswith("[", self.at):
            yield from self.items(path, "]")
        elif self.text.startswith("{", self.at):
            yield from self.items(path, "}")
        elif found := _STRING.match(self.text, self.at) or _SCALAR.match(self.text, self.at):
            self.at = found.end()
        else:
            raise _LostError

    def items(self, path: KeyPath, end: str) -> Iterator[tuple[KeyPath, int]]:
        """An array's elements or an inline table's assignments."""
        self.at += 1
        number = 0
        while self.skip_blank():
            if self.text.startswith(end, self.at):
                self.at += 1
                return
            if end == "]":
                yield (*path, number), self.at
                yield from self.value((*path, number))
                number += 1
            else:
                yield from self.assignment(path)
            self.skip_blank()
            if self.text.startswith(",", self.at):
                self.at += 1
        raise _LostError

    def skip_spaces(self) -> None:
        while self.text.startswith((" ", "\t"), self.at):
            self.at += 1

    def skip_blank(self) -> bool:
        """Pass over spaces, line ends and comments; False at the end of the text."""
        if found := _BLANK.match(self.text, self.at):
            self.at = found.end()
        return self.at < len(self.text)

    def expect(self, sign: str) -> None:
        self.skip_spaces()
        if not self.text.startswith(sign, self.at):
            raise _LostError
        self.at += len(sign)
