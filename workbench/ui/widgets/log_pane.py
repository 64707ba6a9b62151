"""A log view with what stands around it: a line to search by, and a word while it is empty."""

from __future__ import annotations

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static

from workbench.ui.drawing import put
from workbench.ui.lines import Lines
from workbench.ui.overlay_commands import SEARCH_LINE
from workbench.ui.widgets.log_view import LogView


class SearchLine(Input):
    """What to search for; Escape leaves it."""

    OFFER = SEARCH_LINE
    BINDINGS = SEARCH_LINE.bindings()

    def action_leave(self) -> None:
        """Forget the search."""
        self.value = ""
        self.post_message(self.Submitted(self, ""))


class LogPane(Vertical):
    """Output, or a word where there is none."""

    def __init__(self, identifier: str) -> None:
        super().__init__(classes="-silent")
        self._identifier = identifier

    def compose(self) -> ComposeResult:
        """The word, the output, and the line to search by."""
        yield Static(classes="hint")
        yield LogView(self._identifier, self._ask)
        yield SearchLine(
            placeholder="search; Enter goes to the next match, Escape ends", select_on_focus=True
        )

    @property
    def log_view(self) -> LogView:
        """The output."""
        return self.query_one(LogView)

    def show(
        self, lines: Lines | None, *, silence: Content, follow: bool = False, live: bool = False
    ) -> None:
        """Show lines, or with None or no lines a word.

        Args:
            silence: The word.
            follow: Whether to begin at the end.
            live: Whether more may come.
        """
        view = self.log_view
        view.live = live
        if lines is not None and lines is not view.lines:
            view.follow = follow
            view.show(lines)
        self.set_class(not lines, "-silent")
        if not lines:
            put(self.query_one(Static), silence)

    def _ask(self) -> None:
        """Open the line to search by."""
        self.add_class("-searching")
        self.screen.set_focus(self.query_one(SearchLine))

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        self.log_view.search(event.value)

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.remove_class("-searching")
        self.log_view.focus()
