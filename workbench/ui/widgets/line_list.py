"""A list of any length with a cursor, whose lines are made only when they are looked at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.content import Content
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import var
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.visual import Visual

from workbench.ui.screen_commands import LIST


class LineList(ScrollView, can_focus=True):
    """One line an item."""

    OFFER = LIST
    BINDINGS = LIST.bindings()
    COMPONENT_CLASSES: ClassVar[set[str]] = {"line-list--cursor"}

    cursor: var[int] = var(0, init=False)
    """The item that is selected; 0 also where there is none."""

    @dataclass
    class Moved(Message):
        """Another item is selected."""

        list: LineList
        index: int

        @property
        def control(self) -> LineList:
            """The list that it was selected in."""
            return self.list

    @dataclass
    class Chosen(Moved):
        """The user goes on from an item."""

    def __init__(self, identifier: str) -> None:
        super().__init__(id=identifier)
        self._count = 0
        self._line: Callable[[int], Content] = lambda index: Content()

    def show(self, count: int, line: Callable[[int], Content], cursor: int = 0) -> None:
        """Show other items.

        Args:
            line: Makes the line of an item, which is cut at the list's width.
            cursor: The item to select.
        """
        self._count, self._line = count, line
        self.virtual_size = Size(0, count)
        self.set_reactive(LineList.cursor, -1)  # so that the first item is told of too
        self.cursor = cursor
        self._to_cursor()
        self.refresh()

    def __len__(self) -> int:
        return self._count

    def __bool__(self) -> bool:
        return True

    def validate_cursor(self, cursor: int) -> int:
        """Stay within the list."""
        return max(0, min(cursor, self._count - 1))

    def watch_cursor(self, cursor: int) -> None:
        """Keep it in sight, and tell."""
        self._to_cursor()
        self.refresh()
        if self._count:
            self.post_message(self.Moved(self, cursor))

    def _to_cursor(self) -> None:
        self.scroll_to_region(Region(0, self.cursor, 1, 1), animate=False, force=True, immediate=True)

    def action_cursor_down(self) -> None:
        """Go to the next item."""
        self.cursor += 1

    def action_cursor_up(self) -> None:
        """Go to the item before."""
        self.cursor -= 1

    def action_page_down(self) -> None:
        """Go a page down."""
        self.cursor += max(1, self.size.height - 1)

    def action_page_up(self) -> None:
        """Go a page up."""
        self.cursor -= max(1, self.size.height - 1)

    def action_first(self) -> None:
        """Go to the first item."""
        self.cursor = 0

    def action_last(self) -> None:
        """Go to the last item."""
        self.cursor = self._count - 1

    def action_select(self) -> None:
        """Go on from the selected item."""
        if self._count:
            self.post_message(self.Chosen(self, self.cursor))

    def action_copy(self) -> None:
        """Copy the selected item's line."""
        if self._count:
            self.app.copy_to_clipboard(self._line(self.cursor).plain)
            self.notify("Copied.")

    def on_click(self, event: events.Click) -> None:
        """Select an item, and with a second click go on from it."""
        index = self.scroll_offset.y + event.y - self.gutter.top
        if 0 <= index < self._count:
            self.cursor = index
            if event.chain > 1:
                self.action_select()

    def render_line(self, y: int) -> Strip:
        """One item."""
        index = self.scroll_offset.y + y
        width = self.scrollable_content_region.width
        if index >= self._count:
            return Strip.blank(width, self.rich_style)
        style = self.get_visual_style("line-list--cursor") if index == self.cursor else self.visual_style
        content = self._line(index).truncate(width, ellipsis=True)
        strips = Visual.to_strips(self, content, width, 1, style)
        return strips[0].extend_cell_length(width, style.rich_style) if strips else Strip.blank(width)
