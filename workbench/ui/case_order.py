"""Which cases are listed, and in which order: a job may have hundreds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, get_args

from workbench.session import CaseView
from workbench.ui import words

type Order = Literal["as found", "worst first", "slowest first", "by name"]
type Only = Literal["all", "not as they must", "running"]
_FINE = 3
"""What is no worse is as it must be, or not known."""
ORDERS: tuple[Order, ...] = get_args(Order.__value__)
ONLY: tuple[Only, ...] = get_args(Only.__value__)


def arranged(views: Iterable[CaseView], order: Order, only: Only) -> list[CaseView]:
    """The cases to list. Where nothing tells two apart, they stay as they were found."""
    listed = [view for view in views if _listed(view, only)]
    match order:
        case "as found":
            return listed
        case "worst first":
            return sorted(listed, key=_badness)
        case "slowest first":
            return sorted(listed, key=lambda view: -_seconds(view))
        case "by name":
            return sorted(listed, key=lambda view: view.case.name)


def _listed(view: CaseView, only: Only) -> bool:
    match only:
        case "all":
            return True
        case "not as they must":
            return _badness(view)[0] < _FINE
        case "running":
            return view.current is not None and view.current.state != "ended"


def _badness(view: CaseView) -> tuple[int, float]:
    """The lower the worse: what must not be, what is neither, what failed though it had to do nothing."""
    outcome = view.decided.outcome if view.decided else None
    if outcome is None:
        return _FINE, 0.0
    if view.case.expect is None:
        kinds = words.ended_kinds(view)
        share = kinds.count("passed") / len(kinds)
        return (2 if share < 1 else _FINE + 1), share
    if outcome.met:
        return _FINE + 1, 0.0
    return (0 if outcome.met is False else 1), 0.0


def _seconds(view: CaseView) -> float:
    run = view.decided
    return words.elapsed(run, run.ended_at or 0.0) if run else 0.0
