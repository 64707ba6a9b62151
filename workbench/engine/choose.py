"""Which provider makes the machines."""

from __future__ import annotations

from pathlib import Path

from workbench.engine.bubblewrap import BubblewrapProvider
from workbench.engine.provider import HarborProvider, NoProviderError, Provider


async def choose(name: str, state: Path) -> Provider:
    """The provider of this name, started; with no name the best one that works here.

    Args:
        name: `bubblewrap`, `harbor:TYPE`, or empty.
        state: The state directory.

    Raises:
        NoProviderError: there is none, or not this one.
    """
    if name.startswith("harbor:"):
        provider: Provider = HarborProvider(name.removeprefix("harbor:"))
    elif name == "bubblewrap":
        provider = BubblewrapProvider(state, why="asked for")
    elif not name:
        provider = BubblewrapProvider(state, why="no microVM boots here")
    else:
        raise NoProviderError(
            f"there is no provider {name!r}",
            "use bubblewrap or harbor:TYPE, such as harbor:docker",
        )
    await provider.start()
    return provider
