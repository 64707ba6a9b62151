"""Where the files of a machine are on the host."""

from __future__ import annotations

import msgspec


class Layers(msgspec.Struct, frozen=True):
    """One overlay of a machine."""

    target: str
    """Where it is mounted, `/` or `/usr`."""
    upper: str
    """The host directory with the machine's own changes."""
    lower: tuple[str, ...]
    """Those that it stands on, the lowest first."""
