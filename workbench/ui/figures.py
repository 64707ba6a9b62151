"""Figures as a person would say them."""

from __future__ import annotations

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400


def memory(size: float) -> str:
    """A number of bytes, in the unit that a person would use: `41 MiB`."""
    unit = 0
    while size >= 1000 and unit < len(_UNITS) - 1:
        size /= 1024
        unit += 1
    digits = 1 if unit and size < 10 else 0
    return f"{size:.{digits}f} {_UNITS[unit]}"


def ago(seconds: float) -> str:
    """How long ago something was: `12 s ago`."""
    whole = max(0, int(seconds))
    if whole < 2 * _MINUTE:
        return f"{whole} s ago"
    if whole < 2 * _HOUR:
        return f"{whole // _MINUTE} min ago"
    if whole < 2 * _DAY:
        return f"{whole // _HOUR} h ago"
    return f"{whole // _DAY} days ago"


def count(number: int, what: str) -> str:
    """`1 machine`, `3 machines`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"
