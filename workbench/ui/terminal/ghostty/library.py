"""libghostty-vt through pyghostty's raw binding: handles, and the getters and setters of a terminal.

Importing this costs a quarter of a second (the C declarations are parsed). The C API is documented in
Ghostty's `include/ghostty/vt`; pyghostty is pinned to the release whose layouts are used here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyghostty import _ffi, core

ffi: Any = _ffi.ffi
lib: Any = _ffi.lib
check: Callable[[int, str], None] = _ffi.check
"""Raises GhosttyError unless the result is 0."""
sized: Callable[[str], Any] = core.init_sized
"""A new struct by name, its size field filled in."""

# cffi in ABI mode passes no unions by value; structs of the same layout stand in (see pyghostty._ffi).
ffi.cdef("typedef struct { int tag; intptr_t value; uint64_t _pad; } WorkbenchScrollViewport;")
_union_fn: Callable[[str, str], Any] = _ffi.union_fn
_scroll_viewport = _union_fn(
    "ghostty_terminal_scroll_viewport", "void(*)(GhosttyTerminal, WorkbenchScrollViewport)"
)
_grid_ref = _union_fn(
    "ghostty_terminal_grid_ref", "GhosttyResult(*)(GhosttyTerminal, GhosttyPointS, GhosttyGridRef*)"
)
_fill: Callable[[Callable[..., int]], str] = core.read_buf


class Handles:
    """Makes objects of the library and frees the newest first: later ones point into earlier ones."""

    def __init__(self) -> None:
        self._owned: list[tuple[str, Any]] = []

    def new(self, kind: str, *arguments: Any) -> Any:
        """A new object by `ghostty_KIND_new`.

        Raises:
            GhosttyError: the library refused, for want of memory or for a size of 0.
        """
        make = getattr(lib, f"ghostty_{kind}_new")
        handle = ffi.new(ffi.typeof(make).args[1])
        check(make(ffi.NULL, handle, *arguments), f"{kind}_new")
        self._owned.append((kind, handle[0]))
        return handle[0]

    def free(self, handle: Any) -> None:
        """Free one object."""
        kind = next(kind for kind, owned in self._owned if owned == handle)
        self._owned.remove((kind, handle))
        getattr(lib, f"ghostty_{kind}_free")(handle)

    def free_all(self) -> None:
        """Free all that is left. Idempotent."""
        while self._owned:
            kind, handle = self._owned.pop()
            getattr(lib, f"ghostty_{kind}_free")(handle)


class Vt:
    """One terminal of the library. Names of data and options are those of the C enums, without prefix."""

    def __init__(self, handles: Handles, columns: int, rows: int) -> None:
        self.handle = handles.new("terminal", columns, rows)

    def set(self, option: str, value: Any) -> None:
        """Set a GHOSTTY_TERMINAL_OPT."""
        key = getattr(lib, f"GHOSTTY_TERMINAL_OPT_{option}")
        check(lib.ghostty_terminal_set(self.handle, key, value), option)

    def read(self, data: str, out: Any) -> bool:
        """Fill `out` with a GHOSTTY_TERMINAL_DATA; whether there was a value."""
        key = getattr(lib, f"GHOSTTY_TERMINAL_DATA_{data}")
        return bool(lib.ghostty_terminal_get(self.handle, key, out) == lib.GHOSTTY_SUCCESS)

    def get(self, data: str, kind: str) -> Any:
        """A GHOSTTY_TERMINAL_DATA that always has a value, of C type `kind`."""
        out = ffi.new(f"{kind}*")
        key = getattr(lib, f"GHOSTTY_TERMINAL_DATA_{data}")
        check(lib.ghostty_terminal_get(self.handle, key, out), data)
        return out[0]

    def mode(self, number: int) -> bool:
        """Whether a DEC private mode is set."""
        mode = ffi.new("GhosttyTerminalModeConfig*", (number, False))
        return self.read("MODE", mode) and bool(mode.value)

    @property
    def columns(self) -> int:
        return int(self.get("COLS", "uint16_t"))

    @property
    def rows(self) -> int:
        return int(self.get("ROWS", "uint16_t"))

    def scroll(self, where: str, lines: int = 0) -> None:
        """Scroll what is shown by a GHOSTTY_SCROLL_VIEWPORT."""
        tag = getattr(lib, f"GHOSTTY_SCROLL_VIEWPORT_{where}")
        _scroll_viewport(self.handle, ffi.new("WorkbenchScrollViewport*", (tag, lines, 0))[0])

    def ref(self, x: int, y: int) -> Any:
        """The cell shown there, or the nearest one; valid until the screen next changes."""
        point = ffi.new("GhosttyPointS*", {"tag": lib.GHOSTTY_POINT_TAG_VIEWPORT})
        point.value.x = min(max(x, 0), self.columns - 1)
        point.value.y = min(max(y, 0), self.rows - 1)
        ref = sized("GhosttyGridRef")
        check(_grid_ref(self.handle, point[0], ref), "grid_ref")
        return ref[0]

    def place(self, ref: Any) -> tuple[int, int] | None:
        """Row and column of a cell in what is shown; None when it is out of sight."""
        point = ffi.new("GhosttyPointCoordinate*")
        where = ffi.new("GhosttyGridRef*", ref)
        tag = lib.GHOSTTY_POINT_TAG_VIEWPORT
        result = lib.ghostty_terminal_point_from_grid_ref(self.handle, where, tag, point)
        return (point.y, point.x) if result == lib.GHOSTTY_SUCCESS else None

    def format(self, selection: Any) -> str:
        """The text of a selection, or with NULL of the one that is set; wrapped lines joined."""
        options = sized("GhosttyTerminalSelectionFormatOptions")
        options.emit, options.unwrap, options.trim = lib.GHOSTTY_FORMATTER_FORMAT_PLAIN, True, True
        options.selection = selection
        write = lib.ghostty_terminal_selection_format_buf
        return _fill(lambda buffer, size, out: write(self.handle, options[0], buffer, size, out))


def string(value: Any) -> str:
    """The text of a GhosttyString."""
    return bytes(ffi.buffer(value.ptr, value.len)).decode("utf-8", "replace") if value.len else ""
