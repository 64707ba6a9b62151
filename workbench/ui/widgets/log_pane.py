"""A log view with a line to search by."""

from __future__ import annotations

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input

from workbench.ui.commands import key_shown
from workbench.ui.lines import Lines, LiveLines
from workbench.ui.overlay_commands import SEARCH_LINE
from workbench.ui.widgets.log_view import LogView


class SearchLine(Input):
    """What to search for."""

    OFFER = SEARCH_LINE
    BINDINGS = SEARCH_LINE.bindings()

    def action_leave(self) -> None:
        """Forget the search."""
        self.value = ""
        self.post_message(self.Submitted(self, ""))


class LogPane(Vertical):
    """Output, or a word where there is none."""

    def __init__(self, identifier: str) -> None:
        super().__init__()
        self._nothing = LiveLines()
        self._identifier = identifier

    def compose(self) -> ComposeResult:
        """The output, and the line to search by."""
        yield LogView(self._identifier, self._ask)
        leave = key_shown(self.app, SEARCH_LINE["search.leave"])
        yield SearchLine(
            placeholder=f"search; Enter goes to the next match, {leave} ends", select_on_focus=True
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
        view.live, view.silence = live, silence
        wanted = self._nothing if lines is None else lines
        if wanted is not view.lines:
            view.follow = follow
            view.show(wanted)

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
        self.screen.set_focus(self.log_view)
