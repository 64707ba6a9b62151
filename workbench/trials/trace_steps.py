"""From the records of a traced script to its steps: a line that ran each, with what is certain of it."""

from __future__ import annotations

import re
import textwrap
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

from workbench.trials.tracing import FIELD, Traced, seconds

# What a line may hold that no record tells of: a subshell, or what is piped or in the background as a whole.
_UNTOLD = re.compile(
    r"""(?mx)
    (?: ^ | [;&|{!] | \b(?:then|do|else|if|while|until|time) ) \s* \( (?!\()
    | (?: \b(?:done|fi|esac) | [})] ) \s* (?: \| | & (?!&) )
    | \| &? \s* (?: [({] | (?:while|for|until|if|case|select)\b )
    """
)
_GOES_ON = re.compile(r"(?:\\|\|&?|&&)\s*(?:\#.*)?$")
_BLANK = re.compile(r"\s*(?:#.*)?$")


@dataclass(frozen=True)
class Step:
    """One or more commands that ran together."""

    text: str
    """As the shell has them, or as the script does where they are several."""
    file: str
    line: int
    depth: int
    """1 in the script itself, 2 in a function that it calls, and so on."""
    exit_code: int | None
    """None where it cannot be told from another's."""
    statuses: tuple[int, ...]
    """Those of a pipe's parts; empty for what is no pipe."""
    started_at: float | None
    """Unix seconds by the environment's clock."""
    seconds: float | None
    """Of a function, with all that it called."""
    output: slice | None
    """Where what was printed meanwhile stands in the output, in bytes."""


@dataclass(frozen=True)
class _Record:
    status: int
    background: str
    offset: int | None
    at: float | None
    depth: int
    file: str
    line: int
    statuses: tuple[int, ...]
    text: str


@dataclass
class _Group:
    """Records of the same line, or of lines that one command is spread over."""

    records: list[_Record] = field(default_factory=list)

    @property
    def first(self) -> _Record:
        return self.records[0]

    @property
    def last(self) -> _Record:
        return self.records[-1]


def steps(traced: Traced, printed: int) -> list[Step]:
    """The steps of a traced script; none where its commands were not told apart.

    Args:
        printed: Bytes of the script's output.
    """
    source = traced.script.splitlines()
    records = _told(traced.records, source)
    if not records:
        return []
    groups = _grouped(records, source)
    reader = _Reader(traced, printed, source, groups)
    return [reader.step(number) for number in range(len(groups))]


def _told(records: Sequence[str], source: Sequence[str]) -> list[_Record]:
    told: list[_Record] = []
    for text in records:
        record = _record(text)
        if record is None:
            continue
        entered = told and record.depth > told[-1].depth and record.text == told[-1].text
        # The commands of a trap that the script set: bash tells them as line 1, by the name of the last one.
        of_trap = told and record.line == 1 and source and source[0].startswith("#!")
        if not entered and not of_trap:
            told.append(record)
    return told


def _record(text: str) -> _Record | None:
    try:
        status, background, offset, at, depth, file, line, statuses, command = text.split(FIELD, 8)
        return _Record(
            int(status),
            background,
            int(digits[0]) if (digits := re.findall(r"\d+", offset)) else None,
            seconds(at),
            int(depth),
            file,
            int(line),
            tuple(map(int, statuses.split())),
            command.strip(),
        )
    except ValueError:
        return None


def _grouped(records: Sequence[_Record], source: Sequence[str]) -> list[_Group]:
    groups: list[_Group] = []
    script = records[0].file
    for record in records:
        last = groups[-1].last if groups else None
        if (
            last
            and (last.depth, last.file) == (record.depth, record.file)
            and (last.line == record.line or (last.file == script and _one(source, last.line, record.line)))
        ):
            groups[-1].records.append(record)
        else:
            groups.append(_Group([record]))
    return groups


def _one(source: Sequence[str], start: int, end: int) -> bool:
    """Whether the command of line `start` goes on in line `end`."""
    return start < end and all(_GOES_ON.search(line) for line in source[start - 1 : end - 1])


class _Reader:
    """Works out what is certain of each group."""

    def __init__(self, traced: Traced, printed: int, source: Sequence[str], groups: Sequence[_Group]) -> None:
        self._traced = traced
        self._printed = printed
        self._source = source
        self._groups = groups
        self._script = groups[0].first.file
        self._lines = sorted({r.line for group in groups for r in group.records if r.file == self._script})

    def step(self, number: int) -> Step:
        group = self._groups[number]
        first = group.first
        following = self._groups[number + 1].first if number + 1 < len(self._groups) else None
        # A function that was called is over when its caller goes on.
        after = next((g.first for g in self._groups[number + 1 :] if g.first.depth <= first.depth), None)
        text, untold = self._text(group, following)
        exit_code, statuses = self._exit(first, after, untold=untold)
        return Step(
            text=text,
            file=first.file,
            line=first.line,
            depth=first.depth,
            exit_code=exit_code,
            statuses=statuses,
            started_at=first.at,
            seconds=self._seconds(first, after),
            output=self._output(first, following),
        )

    def _exit(
        self, first: _Record, after: _Record | None, *, untold: bool
    ) -> tuple[int | None, tuple[int, ...]]:
        if after is None:
            return (None if untold else self._traced.exit_code), ()
        if after.background != first.background:
            return None, ()
        if len(after.statuses) > 1:
            return after.status, after.statuses
        if untold or not after.statuses:
            return None, ()
        return after.statuses[0], ()

    def _seconds(self, first: _Record, after: _Record | None) -> float | None:
        end = after.at if after else self._traced.inside_ended_at
        return None if first.at is None or end is None else max(0.0, end - first.at)

    def _output(self, first: _Record, following: _Record | None) -> slice | None:
        end = following.offset if following else self._printed
        return None if first.offset is None or end is None else slice(first.offset, end)

    def _text(self, group: _Group, following: _Record | None) -> tuple[str, bool]:
        """What ran, and whether that holds commands of which there is no record."""
        first, last = group.first, group.last
        several = len(group.records) > 1
        if first.file != self._script:
            return "\n".join(record.text for record in group.records), False
        at = bisect_right(self._lines, last.line)
        end = self._lines[at] - 1 if at < len(self._lines) else len(self._source)
        forward = following is not None and following.line == end + 1 and following.depth == first.depth
        untold = bool(_UNTOLD.search(self._lines_of(first.line, end)))
        whole = self._lines_of(first.line, end if untold and (forward or following is None) else last.line)
        if several and "<<" in whole and forward:
            whole = self._lines_of(first.line, end)
        return (whole if several or untold else first.text) or first.text, untold

    def _lines_of(self, start: int, end: int) -> str:
        lines = list(self._source[start - 1 : end])
        while lines and _BLANK.match(lines[-1]):
            lines.pop()
        return textwrap.dedent("\n".join(lines))
