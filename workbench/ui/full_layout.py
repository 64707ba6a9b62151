"""Layouts that every widget hears of."""

from __future__ import annotations

from textual.events import Resize
from textual.geometry import Size
from textual.screen import Screen


class FullLayout[Result](Screen[Result]):
    """A screen that tells every widget whose size became another.

    Textual tells those whose size differs from the one in its map. After a scroll, whoever asks where a
    widget is has that map renewed, with sizes that no widget was told of.
    """

    def _refresh_layout(self, size: Size | None = None, scroll: bool = False) -> None:
        map_before = self._compositor._full_map
        sizes = {widget: widget.outer_size for widget in map_before}
        super()._refresh_layout(size, scroll)
        for widget, (region, _, _, virtual_size, container_size, *_) in self._compositor._full_map.items():
            if widget not in sizes or widget.outer_size == sizes[widget]:
                continue
            if map_before[widget].region.size == region.size:
                widget.post_message(Resize(region.size, virtual_size, container_size))
