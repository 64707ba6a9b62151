"""The `Emulator` by libghostty-vt."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

from workbench.ui.terminal.cells import Rgb, safe_title
from workbench.ui.terminal.emulator import (
    COPY_LIMIT,
    SCROLLBACK,
    Cursor,
    Effects,
    Found,
    Match,
    MouseAction,
    Row,
    Scroll,
    SelectBy,
)
from workbench.ui.terminal.ghostty.find import Search, Selection
from workbench.ui.terminal.ghostty.input import CELL_PIXELS, InputEncoder
from workbench.ui.terminal.ghostty.library import Handles, Vt, check, ffi, lib, sized, string
from workbench.ui.terminal.ghostty.screen import Screen

_FOCUS_EVENTS, _BRACKETED_PASTE, _SYNCHRONIZED_OUTPUT, _GRAPHEME_CLUSTERS = 1004, 2004, 2026, 2027


class GhosttyEmulator:
    """See `Emulator`."""

    def __init__(self, columns: int, rows: int, effects: Effects) -> None:
        self._effects = effects
        self._replies: list[bytes] = []
        self._copied: list[str] = []
        self._rang = self._retitled = False
        handles = Handles()
        self._free = weakref.finalize(self, handles.free_all)
        self._vt = Vt(handles, columns, rows)
        self._screen = Screen(self._vt, handles)
        self._selection = Selection(self._vt)
        self._search = Search(self._vt, handles)
        self._input = InputEncoder(self._vt, handles)
        self._vt.set("SCROLLBACK_MAX_LINES", ffi.new("size_t*", SCROLLBACK))
        self._vt.set("SCROLLBACK_MAX_BYTES", ffi.NULL)  # the built-in limit leaves some hundred lines
        self._vt.set("KITTY_IMAGE_STORAGE_LIMIT", ffi.NULL)  # pictures cannot be shown here
        self._vt.set("CLIPBOARD_WRITE_MAX_BYTES", ffi.new("size_t*", COPY_LIMIT))
        unicode_widths = ffi.new("GhosttyTerminalModeConfig*", (_GRAPHEME_CLUSTERS, True))
        self._vt.set("MODE_DEFAULT", unicode_widths)
        self._listen()

    @property
    def columns(self) -> int:
        return self._vt.columns

    @property
    def rows(self) -> int:
        return self._vt.rows

    def feed(self, data: bytes) -> None:
        lib.ghostty_terminal_vt_write(self._vt.handle, data, len(data))
        self._tell()

    def resize(self, columns: int, rows: int) -> None:
        check(lib.ghostty_terminal_resize(self._vt.handle, columns, rows, *CELL_PIXELS), "resize")
        self._tell()

    def set_colors(self, foreground: Rgb, background: Rgb) -> None:
        self._vt.set("COLOR_FOREGROUND", ffi.new("GhosttyColorRgb*", foreground))
        self._vt.set("COLOR_BACKGROUND", ffi.new("GhosttyColorRgb*", background))

    def changed(self) -> Iterator[tuple[int, Row]]:
        return self._screen.changed()

    def close(self) -> None:
        self._free()

    @property
    def cursor(self) -> Cursor | None:
        return self._screen.cursor

    @property
    def drawing(self) -> bool:
        return self._vt.mode(_SYNCHRONIZED_OUTPUT)

    @property
    def alternate(self) -> bool:
        return bool(self._vt.get("ACTIVE_SCREEN", "int") == lib.GHOSTTY_TERMINAL_SCREEN_ALTERNATE)

    @property
    def wants_mouse(self) -> bool:
        return bool(self._vt.get("MOUSE_TRACKING", "bool"))

    @property
    def scroll(self) -> Scroll:
        bar = self._vt.get("SCROLLBAR", "GhosttyTerminalScrollbar")
        return Scroll(bar.offset, max(0, bar.total - bar.offset - bar.len))

    def scroll_by(self, lines: int) -> None:
        self._vt.scroll("DELTA", lines)

    def scroll_to_end(self) -> None:
        self._vt.scroll("BOTTOM")

    def text(self) -> str:
        everything = sized("GhosttySelection")
        found = lib.ghostty_terminal_select_all(self._vt.handle, everything) == lib.GHOSTTY_SUCCESS
        return self._vt.format(everything) if found else ""

    def select(self, x: int, y: int, by: SelectBy = "cell") -> None:
        self._selection.begin(x, y, by)

    def select_to(self, x: int, y: int) -> None:
        self._selection.extend(x, y)

    def select_none(self) -> None:
        self._selection.clear()

    @property
    def selected(self) -> bool:
        return self._selection.exists

    def selection(self) -> str:
        return self._selection.text()

    def search(self, text: str) -> Found:
        return self._search.start(text)

    def search_next(self, *, newer: bool = False) -> Found:
        return self._search.step(newer=newer)

    def matches(self) -> list[Match]:
        return self._search.shown()

    def encode_key(self, key: str, character: str | None) -> bytes:
        return self._input.key(key, character)

    def encode_mouse(
        self, action: MouseAction, button: int, x: int, y: int, *, shift: bool, alt: bool, ctrl: bool
    ) -> bytes:
        return self._input.mouse(action, button, x, y, shift=shift, alt=alt, ctrl=ctrl)

    def encode_paste(self, text: str) -> bytes:
        return self._input.paste(text, bracketed=self._vt.mode(_BRACKETED_PASTE))

    def encode_focus(self, gained: bool) -> bytes:
        return self._input.focus(gained) if self._vt.mode(_FOCUS_EVENTS) else b""

    def _listen(self) -> None:
        """Have what happens written down; `_tell` passes it on when the library has returned."""

        def reply(terminal: Any, context: Any, data: Any, length: int) -> None:
            self._replies.append(bytes(ffi.buffer(data, length)))

        def bell(terminal: Any, context: Any) -> None:
            self._rang = True

        def retitle(terminal: Any, context: Any) -> None:
            self._retitled = True

        def copy(terminal: Any, context: Any, write: Any) -> None:
            for number in range(write.contents_len):
                content = write.contents[number]
                if string(content.mime).startswith("text/plain"):
                    self._copied.append(string(content.data))

        self._callbacks = {  # kept: the library holds no reference to them
            "WRITE_PTY": ffi.callback("GhosttyTerminalWritePtyFn", reply),
            "BELL": ffi.callback("GhosttyTerminalBellFn", bell),
            "TITLE_CHANGED": ffi.callback("GhosttyTerminalTitleChangedFn", retitle),
            "CLIPBOARD_WRITE": ffi.callback("GhosttyTerminalClipboardWriteFn", copy),
        }
        for option, callback in self._callbacks.items():
            self._vt.set(option, callback)

    def _tell(self) -> None:
        if self._replies:
            replies, self._replies = b"".join(self._replies), []
            self._effects.reply(replies)
        if self._rang:
            self._rang = False
            self._effects.bell()
        if self._retitled:
            self._retitled = False
            self._effects.title(safe_title(string(self._vt.get("TITLE", "GhosttyString"))))
        if self._copied:
            text, self._copied = self._copied[-1], []
            if len(text.encode()) <= COPY_LIMIT:
                self._effects.copy(text)


def _warm_up() -> None:
    """Use every type once. cffi takes milliseconds to parse the name of each, in all a tenth of a second,
    which is better spent here, in the thread that imports this, than on the window's loop."""

    def nothing(*_: object) -> None:
        pass

    emulator = GhosttyEmulator(8, 4, Effects(nothing, nothing, nothing, nothing))
    emulator.set_colors((255, 255, 255), (0, 0, 0))
    emulator.feed(
        "\x1b[31;44ma\x1b[K\x1b[0m漢e\u0301\a\x1b]0;t\a\x1b]52;c;YQ==\a\x1b[c\x1b[?1000;1004h".encode()
    )
    for by in ("cell", "word", "line"):
        emulator.select(0, 0, by)
    emulator.select_to(1, 0)
    emulator.search("a")
    emulator.search_next()
    list(emulator.changed())
    emulator.scroll_by(-1)
    emulator.encode_key("a", "a")
    emulator.encode_mouse("press", 1, 0, 0, shift=False, alt=False, ctrl=False)
    emulator.encode_paste("a")
    emulator.encode_focus(True)
    _ = (emulator.selection(), emulator.matches(), emulator.text(), emulator.scroll, emulator.wants_mouse)
    emulator.close()


_warm_up()
