"""Text that scrolls."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from workbench.ui.drawing import put
from workbench.ui.screen_commands import TEXT


class TextView(VerticalScroll):
    """Content of any height."""

    OFFER = TEXT
    BINDINGS = TEXT.bindings()

    def compose(self) -> ComposeResult:
        """The text."""
        yield Static()

    def put(self, content: Content) -> None:
        """Show this and nothing else."""
        put(self.query_one(Static), content)

    @property
    def room(self) -> int:
        """Cells of a line."""
        return max(20, self.size.width - 3)
