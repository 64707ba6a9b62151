"""What can be chosen from a list of things to go to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    """Something to go to."""

    name: str
    kind: str
    """Such as "case", "tab", "run" or "line"."""
    key: str
    """What it is found by again."""
    about: str = ""
