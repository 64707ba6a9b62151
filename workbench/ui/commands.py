"""What a user can do, said once: keys, palette and help are all made of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from textual.app import App
from textual.binding import Binding, BindingType
from textual.dom import DOMNode
from textual.screen import Screen
from textual.widget import Widget

if TYPE_CHECKING:
    from workbench.ui.base_app import BaseApp


@dataclass(frozen=True)
class Command:
    """One thing to do."""

    id: str
    """Names it in a keymap."""
    keys: str
    """Keys, separated by commas."""
    action: str
    """The action that does it, on the node that offers it."""
    title: str
    """What the footer, the palette and the help call it."""
    help: str
    """One sentence more."""
    show: bool = False
    """Whether the footer has it."""
    priority: bool = False
    """Whether it works wherever the focus is, also in a shell; only for function keys."""


@dataclass(frozen=True)
class Offer:
    """The commands of one kind of node. A class that offers them has it as `OFFER`."""

    title: str
    """The heading in the help."""
    commands: tuple[Command, ...]

    def __getitem__(self, identifier: str) -> Command:
        """A command by its `id`. Raises `KeyError` where there is none."""
        return {command.id: command for command in self.commands}[identifier]

    def bindings(self) -> list[BindingType]:
        """The commands as Textual binds them."""
        return [
            Binding(
                command.keys,
                command.action,
                command.title,
                show=command.show,
                priority=command.priority,
                tooltip=command.help,
                id=command.id,
            )
            for command in self.commands
        ]


RUNNING = frozenset(
    (
        *("run.case", "run.all", "run.unmet", "run.cancel", "run.cancel-all", "shell.case", "shell.image"),
        *("watch.toggle", "trace.toggle", "grid.repeat", "grid.cancel"),
        *("images.cancel", "images.ask", "images.fetch"),
    )
)
"""The commands, by `id`, that something has to run for. Where nothing can, they are not offered; their keys
say why."""


def is_offered(app: App[Any], identifier: str | None) -> bool:
    """Whether key bar, help and palette have a command now."""
    return identifier not in RUNNING or cast("BaseApp", app).can_run


def offered(screen: Screen[object]) -> Iterator[tuple[DOMNode, Offer]]:
    """What can be done on a screen now, each offer once: by the focused node before others of its kind.

    Of the app's own commands only what can be done from there: what lies over a screen may take few of them.
    """
    seen: set[int] = set()
    focused = screen.focused
    nodes = ([focused] if focused else []) + [node for node in screen.walk_children(Widget) if _seen(node)]
    for node in (screen.app, screen, *nodes):
        offer: Offer | None = getattr(type(node), "OFFER", None)
        if offer is None or id(offer) in seen:
            continue
        seen.add(id(offer))
        commands = tuple(one for one in offer.commands if is_offered(screen.app, one.id))
        offer = Offer(offer.title, commands)
        yield node, _of_app(screen, offer) if node is screen.app else offer


def _of_app(screen: Screen[object], offer: Offer) -> Offer:
    chain = (bindings for _, bindings in screen._modal_binding_chain)
    actions = {binding.action.removeprefix("app.") for bindings in chain for _, binding in bindings}
    return Offer(offer.title, tuple(command for command in offer.commands if command.action in actions))


def keys_shown(app: App[Any], command: Command) -> str:
    """All keys of a command as they are called, after what the user changed."""
    return " ".join(_key_names(app, command))


def key_shown(app: App[Any], command: Command) -> str:
    """The first key of a command, for a sentence that speaks of it."""
    return _key_names(app, command)[0]


def _key_names(app: App[Any], command: Command) -> list[str]:
    keys = app._keymap.get(command.id, command.keys)  # Textual has no public way to read it back.
    names = (app.get_key_display(Binding(key.strip(), "")) for key in keys.split(","))
    return list(dict.fromkeys(names))


def _seen(widget: Widget) -> bool:
    """Whether the focus can come to it, or into it."""
    if not widget.display or not all(getattr(node, "display", True) for node in widget.ancestors):
        return False
    return widget.focusable or any(child.focusable for child in widget.walk_children(Widget))
