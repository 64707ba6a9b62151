"""What is done to lines of the screen."""

from __future__ import annotations

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip


def restyle(strip: Strip, start: int, end: int, style: Style) -> Strip:
    """A strip with another style over its characters from `start` up to `end`."""
    text = strip.text
    cuts = [cell_len(text[:start]), cell_len(text[:end]), strip.cell_length]
    before, middle, after = (*strip.divide(cuts), *[Strip([])] * 3)[:3]
    over = [Segment(part.text, (part.style or Style()) + style) for part in middle]
    return Strip([*before, *over, *after])
