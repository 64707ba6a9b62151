"""What parts of the terminal face say to each other."""

from __future__ import annotations

from dataclasses import dataclass

from textual.message import Message

from workbench import wishes
from workbench.events import Event


@dataclass
class Came(Message):
    """Events came in."""

    events: list[Event]


@dataclass
class Ended(Message):
    """The stream of events is at its end."""

    error: str
    """Why it could not even begin; empty when it did."""


@dataclass
class Wished(Message):
    """The user wants something of the engine."""

    wish: wishes.Wish
