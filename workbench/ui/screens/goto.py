"""Anything on the screen, gone to by typing a part of its name."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.fuzzy import Matcher
from textual.style import Style
from textual.widgets import Input

from workbench.ui import words
from workbench.ui.overlay_commands import GOTO
from workbench.ui.screens.live import LiveScreen
from workbench.ui.shortened import shortened
from workbench.ui.targets import Target
from workbench.ui.widgets.line_list import LineList

_KIND = 8
_BETWEEN = "  "
"""A name and what is said about it."""


class GotoScreen(LiveScreen[Target | None]):
    """A line to type in over what matches."""

    CSS_PATH = "goto.tcss"
    OFFER = GOTO
    BINDINGS = GOTO.bindings()
    TYPED_IN = True

    def __init__(
        self, find: Callable[[], Sequence[Target]], title: str, placeholder: str, *, lines: bool = False
    ) -> None:
        """
        Args:
            find: What there is to go to, asked again as things happen.
            lines: Whether a number is a line of the output.
        """
        super().__init__()
        self._find = find
        self._targets = find()
        self._names: frozenset[str] = frozenset()
        """Of everything there is to go to."""
        self._about = 0
        """Cells of the longest word about what matches."""
        self._matcher: Matcher | None = None
        self._title = title
        self._lines = lines
        self._placeholder = placeholder
        self._matching: list[Target] = []

    def compose(self) -> ComposeResult:
        """The line over the matches."""
        with Vertical(id="goto"):
            yield Input(placeholder=self._placeholder)
            yield LineList("goto-list")

    def on_mount(self) -> None:
        """Offer everything."""
        self.query_one("#goto").border_title = self._title
        self.query_one(LineList).can_focus = False
        self._offer("")

    def refresh_views(self) -> None:
        """Offer what there is now."""
        if (targets := self._find()) != self._targets:
            self._targets = targets
            cursor = self.query_one(LineList).cursor
            self._offer(self.query_one(Input).value.strip())
            self.query_one(LineList).cursor = cursor

    def on_input_changed(self, event: Input.Changed) -> None:
        """Offer what matches."""
        self._offer(event.value.strip())

    def on_input_submitted(self) -> None:
        """Go to the selected one."""
        self._choose(self.query_one(LineList).cursor)

    def on_line_list_chosen(self, event: LineList.Chosen) -> None:
        """Go to one that was clicked twice."""
        self._choose(event.index)

    def action_move(self, by: int) -> None:
        """Select another one."""
        self.query_one(LineList).cursor += by

    def _choose(self, index: int) -> None:
        self.dismiss(self._matching[index] if index < len(self._matching) else None)

    def _offer(self, typed: str) -> None:
        self._matcher = None
        if typed.isdecimal() and self._lines:
            self._matching = [Target(f"line {int(typed):,} of the output", "line", typed)]
        elif typed:
            matcher = self._matcher = Matcher(typed, match_style=Style(bold=True, underline=True))
            scored = [(matcher.match(target.name), target) for target in self._targets]
            best = sorted((pair for pair in scored if pair[0] > 0), key=lambda pair: -pair[0])
            self._matching = [target for _, target in best]
        else:
            self._matching = list(self._targets)
        # All names, so that they stay as they are while one types.
        self._names = frozenset(target.name for target in (*self._targets, *self._matching))
        self._about = max((cell_len(target.about) for target in self._matching), default=0)
        self.query_one(LineList).show(len(self._matching), self._line)
        self.query_one("#goto").border_subtitle = "" if self._matching else "nothing matches"

    def _line(self, index: int) -> Content:
        target = self._matching[index]
        width = self.query_one(LineList).scrollable_content_region.width
        room = max(width // 2, width - _KIND - len(_BETWEEN) - self._about)
        name = shortened(self._names, room)[target.name]
        shown = self._matcher.highlight(name) if self._matcher else Content(name)
        about = (f"{_BETWEEN}{target.about}", words.MUTED)
        return Content.assemble((f"{target.kind:<{_KIND}}", words.MUTED), shown, about)
