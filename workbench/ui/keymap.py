"""Keys that a user has moved: which are possible, and which get in each other's way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from textual.keys import KEY_NAME_REPLACEMENTS, Keys, _character_to_key, key_to_character

from workbench.ui import overlay_commands, screen_commands
from workbench.ui.commands import Command, Offer
from workbench.ui.moved_keys import followed
from workbench.ui.shells.keys import TASK_SHELLS
from workbench.ui.terminal.keys import SHELLS, TERMINAL

_NAMED = {key.value for key in Keys} | set(KEY_NAME_REPLACEMENTS.values())
_MODIFIERS = {"ctrl", "shift", "alt", "super", "meta", "hyper"}

_PLACES = (
    (screen_commands.APP, screen_commands.MAIN, screen_commands.LIST),
    (screen_commands.APP, screen_commands.COMPARE, screen_commands.ALIGNED),
    (overlay_commands.EVERYWHERE, overlay_commands.GRID, overlay_commands.BOARD),
    (overlay_commands.EVERYWHERE, overlay_commands.IMAGES),
    (overlay_commands.EVERYWHERE, overlay_commands.NOTICES),
    (overlay_commands.EVERYWHERE, overlay_commands.COSTS),
)
"""What can be done at the same time, where no two do the same thing by design."""


def all_commands() -> dict[str, Command]:
    """Every command by its name."""
    return {command.id: command for offer in _offers() for command in offer.commands}


def faults(keys: Mapping[str, str]) -> Iterator[str]:
    """What is wrong with moved keys: no such key, or one that does two things in the same place."""
    for name, wanted in keys.items():
        for key in _split(wanted):
            if not is_key(key):
                yield f"`{name}`: there is no key `{key}`"
    keys = followed(keys)
    together = [*_PLACES, *((offer,) for offer in _offers())]
    found = (_clashes(chain.from_iterable(offer.commands for offer in place), keys) for place in together)
    yield from dict.fromkeys(chain.from_iterable(found))


def _offers() -> list[Offer]:
    said = (*vars(screen_commands).values(), *vars(overlay_commands).values())
    return [*(value for value in said if isinstance(value, Offer)), TERMINAL, SHELLS, TASK_SHELLS]


def _clashes(offered: Iterable[Command], keys: Mapping[str, str]) -> Iterator[str]:
    taken: dict[str, str] = {}
    for command in offered:
        for key in _split(keys.get(command.id, command.keys)):
            other = taken.setdefault(key, command.id)
            if other != command.id and (command.id in keys or other in keys):
                yield f"`{key}` is for both `{other}` and `{command.id}`"


def _split(keys: str) -> list[str]:
    """Keys by their names, such as `exclamation_mark`, where the user may have written the character."""
    return [_named(key.strip()) for key in keys.split(",")]


def _named(key: str) -> str:
    *modifiers, last = key.rsplit("+", 1) if len(key) > 1 else [key]
    return "+".join([*modifiers, _character_to_key(last) if len(last) == 1 else last])


def is_key(key: str) -> bool:
    """Whether there is a key of this name, such as `ctrl+a` or `exclamation_mark`."""
    *modifiers, last = key.split("+")
    known = len(last) == 1 or last in _NAMED or key_to_character(last) is not None
    return set(modifiers) <= _MODIFIERS and known
