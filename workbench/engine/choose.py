"""Which provider makes the machines."""

from __future__ import annotations

import sys
from pathlib import Path

from workbench.engine.bubblewrap import BubblewrapProvider
from workbench.engine.provider import HarborProvider, NoProviderError, Provider
from workbench.engine.smol import SmolCloudProvider, SmolProvider
from workbench.machines.provider import Probe
from workbench.machines.smol.probe import probe, remembered

PATIENCE = 8.0
"""Seconds that the first start on a host waits for a microVM where another provider can do; how it went is
remembered. `workbench doctor --again` waits longer."""


async def choose(name: str, state: Path) -> Provider:
    """The provider of this name, started; with no name the best one that works here.

    Args:
        name: `smol`, `smol:cloud`, `bubblewrap`, `harbor:TYPE`, or empty.
        state: The state directory.

    Raises:
        NoProviderError: there is none, or not this one.
    """
    provider = await _named(name, state) if name else await _best(state)
    await provider.start()
    return provider


async def _named(name: str, state: Path) -> Provider:
    if name.startswith("harbor:"):
        return HarborProvider(name.removeprefix("harbor:"))
    if name == "bubblewrap":
        return BubblewrapProvider(state, why="asked for")
    if name == "smol:cloud":
        return SmolCloudProvider()
    if name == "smol":
        found = remembered()
        if found is None or not found.usable:
            found = await probe()
        if not found.usable:
            raise NoProviderError(f"smol: {found.why}", found.hint)
        return SmolProvider(why="asked for")
    hint = "use smol, smol:cloud, bubblewrap or harbor:TYPE, such as harbor:docker"
    raise NoProviderError(f"there is no provider {name!r}", hint)


async def _best(state: Path) -> Provider:
    """`smol` where a microVM really boots, else `bubblewrap`."""
    elsewhere = sys.platform.startswith("linux")
    found: Probe = remembered() or await probe(patience=PATIENCE if elsewhere else None)
    if found.usable:
        return SmolProvider(why=found.why)
    if not elsewhere:
        raise NoProviderError(f"smol: {found.why}", found.hint)
    return BubblewrapProvider(state, why=found.why)
