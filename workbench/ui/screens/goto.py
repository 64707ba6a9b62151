"""Anything on the screen, gone to by typing a part of its name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.fuzzy import Matcher
from textual.screen import ModalScreen
from textual.style import Style
from textual.widgets import Input

from workbench.ui import words
from workbench.ui.widgets.line_list import LineList


@dataclass(frozen=True)
class Target:
    """Something to go to."""

    name: str
    kind: str
    """Such as "case", "tab", "run" or "line"."""
    key: str
    """What it is found by again."""
    about: str = ""


class GotoScreen(ModalScreen[Target | None]):
    """A line to type in over what matches; a number is a line of the output."""

    CSS_PATH = "goto.tcss"
    BINDINGS = [  # noqa: RUF012
        Binding("escape", "dismiss", "Close", id="goto.close", tooltip="Go nowhere."),
        Binding("down,ctrl+n", "move(1)", "Down", show=False, id="goto.down", tooltip="The next one."),
        Binding("up,ctrl+p", "move(-1)", "Up", show=False, id="goto.up", tooltip="The one before."),
    ]

    def __init__(self, targets: Sequence[Target], title: str, placeholder: str) -> None:
        super().__init__()
        self._targets = targets
        self._title = title
        self._placeholder = placeholder
        self._matching: list[tuple[Target, Content]] = []

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
        self.dismiss(self._matching[index][0] if index < len(self._matching) else None)

    def _offer(self, typed: str) -> None:
        if typed.isdecimal():
            line = Target(f"line {int(typed):,} of the output", "line", typed)
            self._matching = [(line, Content(line.name))]
        elif typed:
            matcher = Matcher(typed, match_style=Style(bold=True, underline=True))
            scored = [(matcher.match(target.name), target) for target in self._targets]
            best = sorted((pair for pair in scored if pair[0] > 0), key=lambda pair: -pair[0])
            self._matching = [(target, matcher.highlight(target.name)) for _, target in best]
        else:
            self._matching = [(target, Content(target.name)) for target in self._targets]
        self.query_one(LineList).show(len(self._matching), self._line)

    def _line(self, index: int) -> Content:
        target, name = self._matching[index]
        return Content.assemble((f"{target.kind:<8}", words.MUTED), name, (f"  {target.about}", words.MUTED))
