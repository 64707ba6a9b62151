"""Selecting and searching what a terminal keeps."""

from __future__ import annotations

from typing import Any

from workbench.ui.terminal.emulator import Found, Match, SelectBy
from workbench.ui.terminal.ghostty.library import Handles, Vt, check, ffi, lib, sized

_MATCHES_SHOWN = 4096


class Selection:
    """The selection of one terminal. The library keeps it in place while lines move."""

    def __init__(self, vt: Vt) -> None:
        self._vt = vt

    def begin(self, x: int, y: int, by: SelectBy) -> None:
        """See `Emulator.select`."""
        selection = sized("GhosttySelection")
        if by == "cell":
            selection.start = selection.end = self._vt.ref(x, y)
        else:
            options = sized(f"GhosttyTerminalSelect{by.capitalize()}Options")
            options.ref = self._vt.ref(x, y)
            select = getattr(lib, f"ghostty_terminal_select_{by}")
            if select(self._vt.handle, options, selection) != lib.GHOSTTY_SUCCESS:
                return
        self._vt.set("SELECTION", selection)

    def extend(self, x: int, y: int) -> None:
        """See `Emulator.select_to`."""
        selection = sized("GhosttySelection")
        if self._vt.read("SELECTION", selection):
            selection.end = self._vt.ref(x, y)
            self._vt.set("SELECTION", selection)

    def clear(self) -> None:
        """Select nothing."""
        self._vt.set("SELECTION", ffi.NULL)

    @property
    def exists(self) -> bool:
        """Whether something is selected."""
        return self._vt.read("SELECTION", sized("GhosttySelection"))

    def text(self) -> str:
        """See `Emulator.selection`."""
        return self._vt.format(ffi.NULL) if self.exists else ""


class Search:
    """One search at a time in the lines of a terminal."""

    def __init__(self, vt: Vt, handles: Handles) -> None:
        self._vt = vt
        self._handles = handles
        self._search: Any = None

    def start(self, text: str) -> Found:
        """See `Emulator.search`."""
        if self._search is not None:
            self._handles.free(self._search)
            self._search = None
        if text:
            self._search = self._handles.new("search", self._vt.handle)
            sought = ffi.from_buffer("uint8_t[]", text.encode("utf-8", "replace"))
            needle = ffi.new("GhosttyString*", (sought, len(sought)))
            check(lib.ghostty_search_set(self._search, lib.GHOSTTY_SEARCH_OPT_NEEDLE, needle), "needle")
        return self.found()

    def step(self, *, newer: bool) -> Found:
        """See `Emulator.search_next`."""
        if self.found().total:
            option = lib.GHOSTTY_SEARCH_OPT_SELECT_PREV if newer else lib.GHOSTTY_SEARCH_OPT_SELECT_NEXT
            lib.ghostty_search_set(self._search, option, ffi.NULL)
        return self.found()

    def found(self) -> Found:
        """What it has come to now, lines that were written since included."""
        if self._search is None:
            return Found(0, 0)
        check(lib.ghostty_search_run(self._search), "search_run")
        total, index = ffi.new("size_t*"), ffi.new("size_t*")
        self._get("TOTAL_MATCHES", total)
        chosen = self._get("SELECTED_INDEX", index)
        return Found(total[0], index[0] + 1 if chosen and total[0] else 0)

    def shown(self) -> list[Match]:
        """See `Emulator.matches`."""
        if not self.found().total:
            return []
        chosen = sized("GhosttySelection")
        current = self._spans(chosen) if self._get("SELECTED_MATCH", chosen) else []
        shown = ffi.new("GhosttySelection[]", _MATCHES_SHOWN)
        ffi.buffer(shown)[:] = bytes(ffi.buffer(chosen)) * len(shown)  # for the sizes in it
        out = ffi.new("GhosttySelectionBuffer*", (shown, len(shown), 0))
        self._get("VIEWPORT_MATCHES", out)
        spans = (span for n in range(min(out.len, len(shown))) for span in self._spans(shown[n]))
        return [Match(*span, current=span in current) for span in spans]

    def _get(self, data: str, out: Any) -> bool:
        key = getattr(lib, f"GHOSTTY_SEARCH_DATA_{data}")
        return bool(lib.ghostty_search_get(self._search, key, out) == lib.GHOSTTY_SUCCESS)

    def _spans(self, selection: Any) -> list[tuple[int, int, int]]:
        """Row, first cell and the cell after the last, for each row of a selection that is in sight."""
        start, end = self._vt.place(selection.start), self._vt.place(selection.end)
        if start is None or end is None:
            return []
        (first, left), (last, right) = sorted((start, end))
        columns, rows = self._vt.columns, self._vt.rows
        return [
            (y, left if y == first else 0, right + 1 if y == last else columns)
            for y in range(first, min(last + 1, rows))
        ]
