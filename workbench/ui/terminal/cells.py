"""What an emulator's cells look like in the window: safe text of the right width, and Rich styles."""

from __future__ import annotations

import struct
import unicodedata
from collections.abc import Mapping
from functools import lru_cache

from rich.cells import cell_len
from rich.color import Color
from rich.style import Style

type Rgb = tuple[int, int, int]

_REPLACEMENT = "\ufffd"
_JOINERS = frozenset("\u200d\ufe0e\ufe0f")
_STYLE = struct.Struct("=8x i4x3B5x i4x3B5x 16x 8? i4x")
"""GhosttyStyle: foreground, background, (underline colour), flags, kind of underline."""
_PALETTE, _RGB = 1, 2
_TITLE_LIMIT = 200


@lru_cache(maxsize=16_384)
def safe_text(text: str, width: int) -> str:
    """`text` as it may go to the outer terminal, exactly `width` cells wide there.

    Control characters, surrogates and marks that reorder a line never pass: a program in the pane
    writes in its cells and nowhere else.
    """
    if not text or text == "\0" or not width:
        return " " * width
    kept = "".join(char for char in text if _passes(char))
    if kept != text and len(text) == 1:
        kept = _REPLACEMENT
    kept = kept.rstrip("\u200d")
    for candidate in (kept, kept[:1], _REPLACEMENT):
        if 0 < (cells := cell_len(candidate)) <= width:
            return candidate + " " * (width - cells)
    return " " * width


def safe_title(text: str) -> str:
    """`text` as it may stand in a border: one short line without control characters."""
    return "".join(char for char in text if _passes(char)).strip()[:_TITLE_LIMIT]


def _passes(char: str) -> bool:
    if char in _JOINERS or "\U000e0020" <= char <= "\U000e007f":  # tags spell flags
        return True
    return unicodedata.category(char) not in {"Cc", "Cf", "Cs", "Zl", "Zp"}


def style_of(raw: bytes, palette: Mapping[int, Rgb]) -> Style:
    """The Rich style of a GhosttyStyle struct, whose layout `ghostty_type_json` gives.

    Args:
        palette: Numbers that a program gave colours of its own (OSC 4).
    """
    fg_kind, f1, f2, f3, bg_kind, b1, b2, b3, *flags, underline = _STYLE.unpack(raw)
    color, bgcolor = _color(fg_kind, (f1, f2, f3), palette), _color(bg_kind, (b1, b2, b3), palette)
    if not (underline or any(flags)):
        return Style.from_color(color, bgcolor)  # three times as fast, and much the most common
    bold, italic, faint, blink, inverse, invisible, strike, overline = flags
    return Style(
        color=color,
        bgcolor=bgcolor,
        bold=bold or None,
        italic=italic or None,
        dim=faint or None,
        blink=blink or None,
        reverse=inverse or None,
        conceal=invisible or None,
        strike=strike or None,
        overline=overline or None,
        underline=underline not in {0, 2} or None,
        underline2=underline == 2 or None,
    )


def background_of(cell: int, palette: Mapping[int, Rgb]) -> Style:
    """The Rich style of a cell that is a colour only: its tag is 2 for a number, 3 for red, green, blue."""
    value = (cell >> 2 & 0xFF, cell >> 10 & 0xFF, cell >> 18 & 0xFF)
    return Style(bgcolor=_color(_RGB if cell & 1 else _PALETTE, value, palette))


@lru_cache(maxsize=65_536)
def true_color(value: Rgb) -> Color:
    """A colour of 24 bits."""
    return Color.from_rgb(*value)


def _color(kind: int, value: Rgb, palette: Mapping[int, Rgb]) -> Color | None:
    if kind == _PALETTE:
        own = palette.get(value[0])
        return true_color(own) if own else Color.from_ansi(value[0])
    return true_color(value) if kind == _RGB else None
