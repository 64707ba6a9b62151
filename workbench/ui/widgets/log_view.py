"""Program output: what it says is searched, copied, and opened where it names a place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from rich.style import Style
from textual import events, work
from textual.actions import SkipAction
from textual.message import Message
from textual.strip import Strip

from workbench.ui.commands import key_shown
from workbench.ui.finding import FAILURE, Search, Words
from workbench.ui.lines import Lines
from workbench.ui.opening import places
from workbench.ui.screen_commands import OUTPUT
from workbench.ui.slices import in_slices
from workbench.ui.strips import restyle
from workbench.ui.widgets.lines_view import LinesView

_MOST_COPIED = 1024 * 1024
"""Characters; terminals take no more at once, and many take less."""


class LogView(LinesView):
    """Output."""

    OFFER = OUTPUT
    BINDINGS = OUTPUT.bindings()
    COMPONENT_CLASSES: ClassVar[set[str]] = {"log-view--match", "log-view--current"}

    @dataclass
    class PlaceWanted(Message):
        """The user wants to see a place in a file of the task's."""

        path: Path
        line: int

    @dataclass
    class PagerWanted(Message):
        """The user wants all of the output in the pager."""

        view: LogView

    def __init__(self, identifier: str, ask: Callable[[], None]) -> None:
        """
        Args:
            ask: Called when the user wants to type what to search for. Not a message: what is typed next is
                that.
        """
        super().__init__(identifier)
        self._ask = ask
        self.home: Path | None = None
        """The task whose files the output may name."""
        self._search: Search | None = None
        self._match: int | None = None
        """The line of the match that was gone to."""

    def allow_focus(self) -> bool:
        """Nothing is done here where nothing is."""
        return super().allow_focus() and bool(self._lines)

    def _also(self) -> list[str]:
        if self._search is None:
            return []
        at = self._search.found.index(self._match) + 1 if self._match in self._search.found else 0
        return [f"match {at} of {len(self._search.found)}"]

    def show(self, lines: Lines) -> None:
        """Show other lines, from their end when following, else from their start."""
        self._match = None
        self._search = Search(lines, self._search.wanted) if self._search else None
        if lines is not self.lines:
            for group in ("failure", "search"):
                self.workers.cancel_group(self, group)
        super().show(lines)

    def grown(self) -> None:
        """Draw what was added to the lines since the last call."""
        if self._search:
            self._search.grown()
        super().grown()

    def _further(self) -> Iterator[None] | None:
        return self._search.go_on() if self._search else None

    def action_search(self) -> None:
        """Ask for what to search for."""
        self._ask()

    def action_next_match(self, by: int = 1) -> None:
        """Go to the next match, or with -1 to the one before."""
        if self._search is None:
            self.action_search()
        elif (
            found := self._search.next(self._here() if self._match is None else self._match, by)
        ) is not None:
            self._match = found
            self.go_to(found)

    def action_first_failure(self) -> None:
        """Go to the first line that speaks of a failure."""
        self._find_failure()

    @work(group="failure", exclusive=True)
    async def _find_failure(self) -> None:
        search = Search(self._lines, FAILURE)
        await in_slices(step for step in search.go_on() if not search.found)
        if search.found:
            self._search = search
            self._match = search.found[0]
            self.go_to(self._match)
            self._strips.clear()
        else:
            self.notify("No line speaks of a failure.")

    def action_copy(self) -> None:
        """Copy what is selected, else everything that is kept."""
        text = self.screen.get_selected_text() or "\n".join(self._up_to(_MOST_COPIED))
        if len(text) > _MOST_COPIED:
            pager = key_shown(self.app, OUTPUT["output.pager"])
            said = f"This is too much for a clipboard: select a part of it, or press {pager} for the pager."
            self.notify(said, severity="warning")
            return
        self.app.copy_to_clipboard(text)
        self.screen.clear_selection()
        count = text.count("\n") + 1
        self.notify(f"Copied {count:,} line{'s' if count > 1 else ''}.")

    def _up_to(self, characters: int) -> Iterator[str]:
        """The lines as they are shown, until there are more characters than that."""
        for text in self.texts():
            yield text
            if (characters := characters - len(text) - 1) < 0:
                return

    def action_pager(self) -> None:
        """Show everything in the pager."""
        self.post_message(self.PagerWanted(self))

    def action_edit(self) -> None:
        """Open the first place that is named at the match, or from the top of what is in sight."""
        if not self._lines:
            raise SkipAction
        first = self._here() if self._match is None else self._match
        for line in range(first, min(first + self.size.height, len(self._lines))):
            if self._open_place(line):
                return
        self.notify("No line here names a place in the task's files.")

    def on_click(self, event: events.Click) -> None:
        """Open the place that was clicked on."""
        offset = event.get_content_offset(self)
        if offset is None or (row := self.scroll_offset.y + offset.y) >= len(self._rows):
            return
        line, part = self._rows.at(row)
        parts = self._parts(line)
        before = sum(len(strip.text) for strip in parts[:part])
        here = parts[part].crop(0, self.scroll_offset.x + offset.x).text if part < len(parts) else ""
        self._open_place(line, before + len(here))

    def _open_place(self, line: int, column: int | None = None) -> bool:
        """Open a place that a line names, whichever or the one at a column."""
        for start, end, path, number in places(self._text(line), self.home) if self.home else ():
            if column is None or start <= column < end:
                self.post_message(self.PlaceWanted(path, number))
                return True
        return False

    def search(self, typed: str) -> None:
        """Mark what is typed wherever it stands, and go to the next place from here; nothing ends it."""
        self._search = Search(self._lines, Words(typed)) if typed else None
        self._match = None
        self._strips.clear()
        if self._search:
            self._search_here()
        self._changed()

    @work(group="search", exclusive=True)
    async def _search_here(self) -> None:
        if (search := self._search) is None:
            return
        here = self._here()
        await in_slices(search.go_on())
        if (found := search.next(here - 1, 1)) is not None:
            self._match = found
            self.go_to(found)
        self._changed()

    def _marked(self, line: int, strip: Strip) -> Strip:
        """A line with its matches, the places that it names, and what is selected of it."""
        if self._search:
            name = "log-view--current" if line == self._match else "log-view--match"
            style = self.get_component_rich_style(name)
            for span in self._search.wanted.spans(strip.text):
                strip = restyle(strip, *span, style)
        if self.home and any(sign in strip.text for sign in (":", 'File "')):
            for start, end, _, _ in places(strip.text, self.home):
                strip = restyle(strip, start, end, Style(underline=True))
        return super()._marked(line, strip)
