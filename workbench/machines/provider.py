"""What is known of a way to make machines on this host."""

from __future__ import annotations

import msgspec


class Probe(msgspec.Struct, frozen=True):
    """What came of trying a provider by making a real machine."""

    provider: str
    """`smol`, `bubblewrap` or `harbor:TYPE`."""
    usable: bool
    label: str
    """How every screen names it."""
    why: str
    """One line: how it works here, or what is in the way."""
    hint: str = ""
    """The next command to run, for a provider that is not usable or could do better."""
    limits: tuple[str, ...] = ()
    """What it cannot enforce or do here, one line each."""
    details: dict[str, str] = {}
    """Further facts for a person who looks closer, such as programs and their paths."""
