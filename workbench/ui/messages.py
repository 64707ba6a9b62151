"""What parts of the screen say to each other."""

from __future__ import annotations

from dataclasses import dataclass

from textual.message import Message

from workbench import wishes


@dataclass
class Wished(Message):
    """The user wants something of the engine."""

    wish: wishes.Wish
