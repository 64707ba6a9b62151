"""The keys that do something where the focus is."""

from __future__ import annotations

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.binding import ActiveBinding, BindingsMap
from textual.dom import DOMNode
from textual.screen import Screen
from textual.widgets import Footer
from textual.widgets._footer import FooterKey

from workbench.ui.commands import is_offered
from workbench.ui.terminal.keys import is_for_workbench
from workbench.ui.terminal.terminal import Terminal

_WAYS_OUT = frozenset({"back", "close", "dismiss", "leave"})
"""Actions, for the user may have given them any keys."""


class KeyBar(Footer):
    """A footer that leaves out, while one types in a shell, the keys that go there, and what cannot be.

    Where there is no room for all, the ways out and to the help stay, and the palette goes first.
    """

    def __init__(self) -> None:
        super().__init__(show_command_palette=False)
        self._room = 0
        """The columns that the keys were chosen for."""

    def compose(self) -> ComposeResult:
        """One key for each action."""
        if not self._bindings_ready:
            return
        screen = self.screen
        typing = isinstance(screen.focused, Terminal)
        keys: dict[str, FooterKey] = {}
        for key, (_, binding, enabled, tooltip) in _in_order(screen):
            if not binding.show or binding.action in keys or not is_offered(self.app, binding.id):
                continue
            if typing and not is_for_workbench(key, screen):
                continue
            keys[binding.action] = FooterKey(
                key,
                self.app.get_key_display(binding),
                binding.description,
                binding.action,
                disabled=not enabled,
                tooltip=tooltip,
            ).data_bind(compact=Footer.compact)
        self._room = self.app.size.width
        yield from _fitting(list(keys.values()), self._room)

    def on_resize(self) -> None:
        """Choose anew."""
        if self.app.size.width != self._room:
            self.refresh(recompose=True)


def _in_order(screen: Screen[object]) -> list[tuple[str, ActiveBinding]]:
    """Keys in the order that their nodes' classes say them, and those that work everywhere last.

    Textual puts those last that the user moved.
    """
    places: dict[tuple[DOMNode, str | None], tuple[int, int]] = {}
    for at, (node, _) in enumerate(screen._modal_binding_chain):
        for place, (_, binding) in enumerate(type(node)._merged_bindings or BindingsMap()):
            places.setdefault((node, binding.id), (at, place))
    last = len(places), 0

    def where(item: tuple[str, ActiveBinding]) -> tuple[bool, tuple[int, int]]:
        active = item[1]
        everywhere = active.binding.action.startswith("app.") or active.node is screen.app
        return everywhere, places.get((active.node, active.binding.id), last)

    return sorted(screen.active_bindings.items(), key=where)


def _fitting(keys: list[FooterKey], room: int) -> list[FooterKey]:
    """The most important ones that have room together, in the order that they came."""
    kept = []
    for key in sorted(keys, key=_rank):
        room -= cell_len(f" {key.key_display} {key.description} ")
        if room < 0:
            break
        kept.append(key)
    return [key for key in keys if key in kept]


def _rank(key: FooterKey) -> int:
    """What stays where there is little room comes first."""
    action = key.action.removeprefix("app.")
    if key.action in _WAYS_OUT:
        return 0
    return {"help": 1, "quit": 2, "command_palette": 4}.get(action, 3)
