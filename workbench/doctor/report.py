"""What the doctor found: plain data."""

from __future__ import annotations

import msgspec

from workbench.machines.provider import Probe


class Tool(msgspec.Struct, frozen=True):
    """A program that builds images."""

    name: str
    usable: bool
    why: str
    """Its version, or what is in the way."""
    hint: str = ""
    """The next command to run."""


class Place(msgspec.Struct, frozen=True):
    """A directory of the workbench's."""

    what: str
    path: str
    free_bytes: int
    """On its disk."""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """Everything at one time."""

    versions: dict[str, str]
    """Of the workbench, what it drives, and what it stands on."""
    chosen: str
    """The provider that is used when none is asked for; empty when there is none."""
    providers: tuple[Probe, ...]
    """Best first."""
    builders: tuple[Tool, ...]
    """In the order they are tried."""
    places: tuple[Place, ...]
