"""The cases and runs that a typed line names: a case by its name, one of its runs by a number after it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from workbench.session import CaseView, Run
from workbench.ui.figures import count
from workbench.ui.visible import one_line

_NUMBERED = re.compile(r"(.*\S)\s+(\d{1,9})", re.ASCII)


class NotThereError(Exception):
    """There is no such case or run; the message says so."""


@dataclass(frozen=True)
class Named:
    """A case, or one of its runs."""

    view: CaseView
    number: int | None = None
    """Of the run, 1 for the oldest; None where the case alone is named."""

    @property
    def run(self) -> Run | None:
        """The run of this number; else the newest that has begun, for one that waits has nothing to tell."""
        return self.view.runs[self.number - 1] if self.number else self.view.begun


def named(typed: str, cases: Mapping[str, CaseView], most: int = 1) -> list[Named]:
    """What is named, in order, up to so many; nothing where nothing is typed.

    Names may have blanks, and end in a number: what is a case's name as a whole is that case.

    Raises:
        NotThereError: a name is not known, or a case has no run of the number.
    """
    found = _split(typed, cases, most) if typed else []
    if found is None:
        raise NotThereError(f"there is no case {one_line(typed)}")
    for one in found:
        if one.number is not None and not 1 <= one.number <= len(one.view.runs):
            runs = count(len(one.view.runs), "run")
            raise NotThereError(f"{one_line(one.view.case.name)} has {runs}, and none of number {one.number}")
    return found


def _split(typed: str, cases: Mapping[str, CaseView], most: int) -> list[Named] | None:
    if one := _one(typed, cases):
        return [one]
    for blank in re.finditer(r"\s+", typed) if most > 1 else ():
        first, rest = _one(typed[: blank.start()], cases), _split(typed[blank.end() :], cases, most - 1)
        if first and rest:
            return [first, *rest]
    return None


def _one(typed: str, cases: Mapping[str, CaseView]) -> Named | None:
    if typed in cases:
        return Named(cases[typed])
    match = _NUMBERED.fullmatch(typed)
    return Named(cases[match[1]], int(match[2])) if match and match[1] in cases else None
