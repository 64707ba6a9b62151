"""What can be done on a screen, and by which keys."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Input, Static

from workbench.ui.commands import Command, keys_shown, offered
from workbench.ui.overlay import Overlay
from workbench.ui.overlay_commands import HELP

_ABOUT = (
    "Open a task, and its cases are replayed: the oracle must pass, doing nothing must fail, and so must "
    "each wrong solution in negatives/. Save a file, and what it affects is replayed."
)


class HelpScreen(Overlay[None]):
    """An overlay made from the bindings of the screen beneath."""

    CSS_PATH = "help.tcss"
    OFFER = HELP
    BINDINGS = HELP.bindings()

    def __init__(self, beneath: Screen[object]) -> None:
        super().__init__()
        self._beneath = beneath

    def compose(self) -> ComposeResult:
        """A line to filter by, over the keys."""
        with Vertical(id="help"):
            yield Input(placeholder="filter by key or word; Escape closes", id="help-filter")
            with VerticalScroll(id="help-keys", can_focus=False):
                yield Static(id="help-text")

    def on_mount(self) -> None:
        """Name the overlay, and show everything."""
        self.query_one("#help").border_title = "Help"
        self._show("")

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show what matches."""
        self._show(event.value)

    def action_scroll(self, by: int) -> None:
        """Scroll the keys while the filter has the focus."""
        self.query_one("#help-keys").scroll_relative(y=by, animate=False)

    def _show(self, filter_: str) -> None:
        wanted = filter_.lower().split()
        lines: list[Content] = [] if wanted else [Content.styled(_ABOUT, "$muted"), Content()]
        for _, offer in offered(self._beneath):
            rows = [
                _row(self.keys(command), command)
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


def _row(keys: str, command: Command) -> Content:
    return Content.assemble(
        (f"  {keys:<12}", "bold"), f"{command.title:<16}", (f"  {command.help}", "$muted")
    )
