"""How the engine's parts tell what happens."""

from collections.abc import Callable

from workbench.events import Event

type Emit = Callable[[Event], None]
