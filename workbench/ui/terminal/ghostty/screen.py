"""What is shown: cells of the render state as styled text."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from rich.color import Color
from rich.segment import Segment
from rich.style import Style

from workbench.ui.terminal.cells import Rgb, background_of, safe_text, style_of, true_color
from workbench.ui.terminal.emulator import Cursor, Row
from workbench.ui.terminal.ghostty.library import Handles, Vt, check, ffi, lib, sized

# Bits of a cell, as `ghostty_type_json` tells them.
_GRAPHEME, _BACKGROUND = 1, 2  # of its tag: more code points follow; no text but a colour
_WIDE_BITS = 0b11 << 42
_TEXT_BITS = 0x3FFFFFF | _WIDE_BITS  # tag, code point and width
_CELL_STYLE = lib.GHOSTTY_RENDER_STATE_ROW_CELLS_DATA_STYLE
_CELL_TEXT = lib.GHOSTTY_RENDER_STATE_ROW_CELLS_DATA_GRAPHEMES_UTF8
_select, _read = lib.ghostty_render_state_row_cells_select, lib.ghostty_render_state_row_cells_get
_STYLES_KEPT = 16_384
_TEXTS_KEPT = 65_536
_GRAPHEME_BYTES = 256


class Screen:
    """The rows of one terminal, and which of them changed."""

    def __init__(self, vt: Vt, handles: Handles) -> None:
        self._vt = vt
        self._state = handles.new("render_state")
        self._rows = ffi.new("GhosttyRenderStateRowIterator*", handles.new("render_state_row_iterator"))
        self._cells = ffi.new("GhosttyRenderStateRowCells*", handles.new("render_state_row_cells"))
        self._raw = ffi.new("GhosttyCellsView*")
        self._style = sized("GhosttyStyle")
        self._range = sized("GhosttyRenderStateRowSelection")
        self._cursor = sized("GhosttyRenderStateCursor")
        self._colors = b""
        self._palette: dict[int, Rgb] = {}
        self._styles: dict[int | bytes, Style] = {0: Style.null()}
        self._texts = _Texts()

    def changed(self) -> Iterator[tuple[int, Row]]:
        """See `Emulator.changed`."""
        check(lib.ghostty_render_state_update(self._state, self._vt.handle), "render_state_update")
        self._get("CURSOR", self._cursor)
        self._get("ROW_ITERATOR", self._rows)
        if self._recolored():
            y = 0
            while lib.ghostty_render_state_row_iterator_next(self._rows[0]):
                yield y, self._row()
                y += 1
        else:
            at = ffi.new("uint16_t*")
            while lib.ghostty_render_state_row_iterator_next_dirty(self._rows[0], at):
                yield at[0], self._row()
        check(lib.ghostty_render_state_clean(self._state), "render_state_clean")

    @property
    def cursor(self) -> Cursor | None:
        """See `Emulator.cursor`."""
        cursor = self._cursor
        if not (cursor.visible and cursor.viewport_has_value):
            return None
        block = cursor.visual_style == lib.GHOSTTY_RENDER_STATE_CURSOR_VISUAL_STYLE_BLOCK
        return Cursor(cursor.viewport_x - cursor.wide_tail, cursor.viewport_y, block)

    def _get(self, data: str, out: Any) -> None:
        key = getattr(lib, f"GHOSTTY_RENDER_STATE_DATA_{data}")
        check(lib.ghostty_render_state_get(self._state, key, out), data)

    def _row_get(self, data: str, out: Any) -> bool:
        key = getattr(lib, f"GHOSTTY_RENDER_STATE_ROW_DATA_{data}")
        return bool(lib.ghostty_render_state_row_get(self._rows[0], key, out) == lib.GHOSTTY_SUCCESS)

    def _cell_get(self, x: int, data: int, out: Any) -> None:
        _select(self._cells[0], x)
        _read(self._cells[0], data, out)

    def _row(self) -> Row:
        self._row_get("CELLS_RAW", self._raw)
        self._row_get("CELLS", self._cells)
        cells = ffi.unpack(self._raw.ptr, self._raw.len)
        _mend(cells)
        texts = self._texts
        segments: list[Segment] = []
        x = 0
        for key, run in groupby(cells, _style_key):
            style = self._style_at(x, key)
            plain: list[str] = []
            for cell in run:
                if cell & 0b11 == _GRAPHEME:
                    # A segment of its own, so that it is not measured together with its neighbours.
                    segments += [Segment("".join(plain), style), Segment(self._grapheme_at(x, cell), style)]
                    plain = []
                else:
                    plain.append(texts[cell & _TEXT_BITS])
                x += 1
            segments.append(Segment("".join(plain), style))
        selected = self._row_get("SELECTION", self._range)
        return Row(segments, (self._range.start_x, self._range.end_x + 1) if selected else None)

    def _style_at(self, x: int, key: int) -> Style:
        name: int | bytes = key
        if key > 0:  # numbers are used again for other styles, so what they stand for is read each time
            self._cell_get(x, _CELL_STYLE, self._style)
            name = bytes(ffi.buffer(self._style))
        if (style := self._styles.get(name)) is None:
            if len(self._styles) > _STYLES_KEPT:
                self._styles = {0: self._styles[0]}
            if isinstance(name, bytes):
                own = style_of(name, self._palette)
            else:
                own = background_of(-name, self._palette)
            style = self._styles[name] = self._styles[0] + own if self._styles[0] else own
        return style

    def _grapheme_at(self, x: int, cell: int) -> str:
        text = ffi.new("uint8_t[]", _GRAPHEME_BYTES)
        out = ffi.new("GhosttyBuffer*", (text, len(text), 0))
        self._cell_get(x, _CELL_TEXT, out)
        whole = bytes(ffi.buffer(text, min(out.len, len(text)))).decode("utf-8", "replace")
        return safe_text(whole, _width(cell))

    def _recolored(self) -> bool:
        """Whether the default colours or the palette changed; then every row is to be drawn anew."""
        colors = sized("GhosttyRenderStateColors")
        self._get("COLORS", colors)
        seen = bytes(ffi.buffer(colors))
        if seen == self._colors:
            return False
        self._colors = seen
        defaults = ffi.new("GhosttyColorRgb[256]")
        self._vt.read("COLOR_PALETTE_DEFAULT", defaults)
        pairs = ((n, _rgb(colors.palette[n]), _rgb(defaults[n])) for n in range(256))
        self._palette = {n: now for n, now, default in pairs if now != default}
        self._styles = {0: Style(color=self._own("FOREGROUND"), bgcolor=self._own("BACKGROUND"))}
        return True

    def _own(self, name: str) -> Color | None:
        """A default colour that the program set (OSC 10 and 11)."""
        now, default = ffi.new("GhosttyColorRgb*"), ffi.new("GhosttyColorRgb*")
        self._vt.read(f"COLOR_{name}_DEFAULT", default)
        if self._vt.read(f"COLOR_{name}", now) and _rgb(now) != _rgb(default):
            return true_color(_rgb(now))
        return None


class _Texts(dict[int, str]):
    """Cell bits to text; cells repeat so much that nearly every look-up hits."""

    def __missing__(self, bits: int) -> str:
        if len(self) > _TEXTS_KEPT:
            self.clear()
        character = " " if bits & _BACKGROUND else chr(bits >> 2 & 0x1FFFFF)
        text = self[bits] = safe_text(character, _width(bits))
        return text


def _width(cell: int) -> int:
    """Cells that its text takes: none where the wide one before it reaches in."""
    wide = cell >> 42 & 0b11
    return 2 if wide == lib.GHOSTTY_CELL_WIDE_WIDE else int(wide != lib.GHOSTTY_CELL_WIDE_SPACER_TAIL)


def _mend(cells: list[int]) -> None:
    """Make halves of wide characters that a change of size or a cursor tore apart narrow cells."""
    wide = [x for x, cell in enumerate(cells) if cell & _WIDE_BITS]
    widths = {x: _width(cells[x]) for x in wide}
    for x, width in widths.items():
        if (width == 2 and widths.get(x + 1) != 0) or (width == 0 and widths.get(x - 1) != 2):
            cells[x] &= ~_WIDE_BITS


def _style_key(cell: int) -> int:
    """Equal for neighbours that are drawn alike; below 0 for cells that are a colour and nothing else."""
    return -cell if cell & _BACKGROUND else cell >> 26 & 0xFFFF


def _rgb(color: Any) -> Rgb:
    return color.r, color.g, color.b
