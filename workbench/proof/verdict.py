"""What all cases of a task come to together."""

from __future__ import annotations

from typing import Literal

import msgspec

type VerdictKind = Literal["holds", "broken", "cannot fail", "unproven", "flaky"]


class Verdict(msgspec.Struct, frozen=True):
    """Whether the harness holds."""

    kind: VerdictKind
    reason: str
    """One line; names the case that decides."""
    cases: tuple[str, ...] = ()
    """The cases that decide, the first being the one that `reason` speaks of."""
    held: int = 0
    """How many cases met their expectation."""
    total: int = 0
    """How many cases have an expectation."""
