"""Panes made larger and smaller, by keys and by dragging the border between them."""

from __future__ import annotations

from textual import events
from textual.geometry import clamp
from textual.screen import Screen
from textual.widget import Widget

_LEAST_COLUMN = 30
_LEAST_SHELLS = 5
_LEAST_BODY = 8
COLUMN_STEP, SHELLS_STEP = 4, 2


class Borders:
    """The two borders that can be moved: beside the left column, and above the shells."""

    def __init__(self, screen: Screen[None], left: str, shells: str, sizes: tuple[int, int]) -> None:
        """
        Args:
            left: A selector of the left column.
            shells: A selector of the shells.
            sizes: Cells of the left column and lines of the shells; 0 leaves it to the style sheet.
        """
        self._screen = screen
        self._selectors = (left, shells)
        self.sizes = list(sizes)
        self._dragged: int | None = None

    def lay_out(self) -> None:
        """Give the panes their sizes, where the screen is wide enough to have both."""
        wide = self._screen.has_class("-wide")
        left, shells = self._panes
        left.styles.width = self._fit(0) if wide and self.sizes[0] else None
        shells.styles.height = self._fit(1) if wide and self.sizes[1] else None

    def move(self, which: int, by: int) -> bool:
        """Move a border, if there: 0 the one beside the left column, 1 the one above the shells."""
        pane = self._panes[which]
        if not self._screen.has_class("-wide") or not pane.display:
            return False
        now = pane.outer_size
        self.sizes[which] = (now.width if which == 0 else now.height) + by
        self.sizes[which] = self._fit(which)
        self.lay_out()
        return True

    def grab(self, event: events.MouseDown) -> bool:
        """Begin to drag when the mouse is on a border."""
        left, shells = self._panes
        self._dragged = None
        if not self._screen.has_class("-wide"):
            return False
        if shells.display and event.screen_y == shells.region.y:
            self._dragged = 1
        elif (
            event.screen_x in (left.region.right - 1, left.region.right)
            and left.region.y <= event.screen_y < left.region.bottom
        ):
            self._dragged = 0
        if self._dragged is not None:
            self._screen.capture_mouse()
        return self._dragged is not None

    def drag(self, event: events.MouseMove) -> None:
        """Follow the mouse."""
        if self._dragged == 0:
            self.sizes[0] = event.screen_x + 1
        elif self._dragged == 1:
            self.sizes[1] = self._panes[1].region.bottom - event.screen_y
        if self._dragged is not None:
            self.sizes[self._dragged] = self._fit(self._dragged)
            self.lay_out()

    def let_go(self) -> None:
        """End dragging."""
        if self._dragged is not None:
            self._dragged = None
            self._screen.release_mouse()

    @property
    def _panes(self) -> tuple[Widget, Widget]:
        left, shells = (self._screen.query_one(selector) for selector in self._selectors)
        return left, shells

    def _fit(self, which: int) -> int:
        width, height = self._screen.size
        if which == 0:
            return clamp(self.sizes[0], _LEAST_COLUMN, max(_LEAST_COLUMN, width - _LEAST_COLUMN))
        return clamp(self.sizes[1], _LEAST_SHELLS, max(_LEAST_SHELLS, height - _LEAST_BODY))
