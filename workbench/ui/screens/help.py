"""What can be done on a screen, and by which keys; a click does it."""

from __future__ import annotations

from textwrap import wrap

from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.dom import DOMNode
from textual.screen import Screen
from textual.widgets import Input, Static

from workbench.ui.clicks import clickable
from workbench.ui.commands import Command, key_shown, keys_shown, offered
from workbench.ui.overlay import Overlay
from workbench.ui.overlay_commands import HELP

_ABOUT = (
    "Open a task, and its cases are replayed: the oracle must pass, doing nothing must fail, and so must "
    "each wrong solution in negatives/. Save a file, and what it affects is replayed."
)
_LEAST = 32
"""Columns without which an explanation does not stand beside its keys."""
_INDENT = 16
"""Of what stands beneath the keys."""


class HelpScreen(Overlay[None]):
    """An overlay made from the bindings of the screen beneath."""

    CSS_PATH = "help.tcss"
    OFFER = HELP
    BINDINGS = HELP.bindings()
    TYPED_IN = True

    def __init__(self, beneath: Screen[object]) -> None:
        super().__init__()
        self._beneath = beneath
        self._offered: dict[str, tuple[DOMNode, Command]] = {}

    def compose(self) -> ComposeResult:
        """A line to filter by, over the keys."""
        with Vertical(id="help"):
            yield Input(
                placeholder=f"filter by key or word; {key_shown(self.app, HELP['help.close'])} closes",
                id="help-filter",
            )
            with VerticalScroll(id="help-keys", can_focus=False):
                yield Static(id="help-text")

    def on_mount(self) -> None:
        """Name the overlay, and show everything."""
        self.query_one("#help").border_title = "Help"
        self._show("")

    def on_resize(self) -> None:
        """Fit the lines again."""
        self.call_after_refresh(lambda: self._show(self.query_one(Input).value))

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show what matches."""
        self._show(event.value)

    def action_run_command(self, identifier: str) -> None:
        """Close, and do what was clicked."""
        node, command = self._offered[identifier]
        self.dismiss()
        self.app.call_later(self.app.run_action, command.action, node)

    def action_scroll(self, by: int) -> None:
        """Scroll the keys while the filter has the focus."""
        self.query_one("#help-keys").scroll_relative(y=by, animate=False)

    def _show(self, filter_: str) -> None:
        wanted = filter_.lower().split()
        room = self.query_one("#help-text").content_size.width
        lines: list[Content] = [] if wanted else [Content.styled(_ABOUT, "$muted"), Content()]
        for node, offer in offered(self._beneath):
            self._offered |= {command.id: (node, command) for command in offer.commands}
            rows = [
                _row(self.keys(command), command, room)
                for command in offer.commands
                if all(
                    word in f"{self.keys(command)} {command.title} {command.help}".lower() for word in wanted
                )
            ]
            if rows:
                lines += [Content.styled(offer.title, "bold $accent"), *rows, Content()]
        text = Content("\n").join(lines) if lines else Content.styled("No key or word matches.", "$muted")
        self.query_one("#help-text", Static).update(text)

    def keys(self, command: Command) -> str:
        """The keys of a command, as they are called."""
        return keys_shown(self.app, command)


def _row(keys: str, command: Command, room: int) -> Content:
    """Keys and title, with what they do beside them, or beneath where there is no room for that."""
    name = Content.assemble((f"  {keys:<12}", "bold"), f"{command.title:<16}")
    name = clickable(name, f"screen.run_command('{command.id}')")
    indent = name.cell_length + 2
    beneath = room - indent < _LEAST
    indent = _INDENT if beneath else indent
    about = f"\n{' ' * indent}".join(wrap(command.help, max(_LEAST, room - indent)))
    return Content.assemble(name, f"\n{' ' * indent}" if beneath else "  ", (about, "$muted"))
