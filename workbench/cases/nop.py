"""Doing nothing, which must fail."""

from __future__ import annotations

from workbench.cases.case import Case

NAME = "nop"


def nop_case() -> Case:
    """Harbor's nop agent."""
    return Case(NAME, "nop", "fail", why="does nothing")
