"""What the user does, as bytes for the program, by libghostty-vt's encoders."""

from __future__ import annotations

import unicodedata
from typing import Any

from textual.keys import REPLACED_KEYS, key_to_character

from workbench.ui.terminal.emulator import MouseAction
from workbench.ui.terminal.ghostty.library import Handles, Vt, check, ffi, lib, sized

_SHIFT, _CTRL, _ALT, _SUPER = (1 << bit for bit in range(4))
_MODS = {"shift": _SHIFT, "ctrl": _CTRL, "alt": _ALT, "super": _SUPER}
CELL_PIXELS = 8, 16
"""What a cell is said to measure: the mouse encoder thinks in pixels."""

_NAMES = {
    "enter": "ENTER",
    "tab": "TAB",
    "backspace": "BACKSPACE",
    "escape": "ESCAPE",
    "space": "SPACE",
    "delete": "DELETE",
    "insert": "INSERT",
    "home": "HOME",
    "end": "END",
    "pageup": "PAGE_UP",
    "pagedown": "PAGE_DOWN",
    "up": "ARROW_UP",
    "down": "ARROW_DOWN",
    "left": "ARROW_LEFT",
    "right": "ARROW_RIGHT",
    "`": "BACKQUOTE",
    "\\": "BACKSLASH",
    "[": "BRACKET_LEFT",
    "]": "BRACKET_RIGHT",
    ",": "COMMA",
    "=": "EQUAL",
    "-": "MINUS",
    ".": "PERIOD",
    "'": "QUOTE",
    ";": "SEMICOLON",
    "/": "SLASH",
    **{f"f{number}": f"F{number}" for number in range(1, 25)},
    **{str(digit): f"DIGIT_{digit}" for digit in range(10)},
    **{letter: letter.upper() for letter in "abcdefghijklmnopqrstuvwxyz"},
}
_LEGACY = {"ctrl+left_square_bracket": "escape", "ctrl+i": "tab", "ctrl+m": "enter"}
"""One byte for both in terminals without the kitty keyboard protocol, whatever the outer one has."""
_ACTIONS = {"press": "PRESS", "release": "RELEASE", "move": "MOTION"}
_BUTTONS = {1: "LEFT", 2: "MIDDLE", 3: "RIGHT", 4: "FOUR", 5: "FIVE", 6: "SIX", 7: "SEVEN"}
_WHEEL = {4, 5, 6, 7}


class InputEncoder:
    """Encodes as the modes of one terminal ask."""

    def __init__(self, vt: Vt, handles: Handles) -> None:
        self._vt = vt
        self._key = handles.new("key_event")
        self._key_encoder = handles.new("key_encoder")
        self._mouse = handles.new("mouse_event")
        self._mouse_encoder = handles.new("mouse_encoder")
        self._held: set[int] = set()
        self._at = (-1, -1)

    def key(self, key: str, character: str | None) -> bytes:
        """The bytes for a key by Textual's name for it."""
        if key == "backspace" and character == "\b":
            key = "ctrl+h"  # the outer terminal's Backspace sends DEL
        if not self._vt.get("KITTY_KEYBOARD_FLAGS", "uint8_t"):
            key = _LEGACY.get(key, key)
        *modifiers, base = [key] if key == "+" else key.split("+")
        mods = sum(_MODS.get(name, 0) for name in dict.fromkeys(modifiers))
        text = (
            next(filter(_printable, (character, key_to_character(REPLACED_KEYS.get(base, base)))), "") or ""
        )
        plain = text.lower() if len(text.lower()) == 1 else text
        name = _NAMES.get(base) or _NAMES.get(plain) or "UNIDENTIFIED"
        if mods & _SHIFT:
            text = text.upper()
        utf8 = text.encode("utf-8", "ignore")
        kept_alive = ffi.new("char[]", utf8)
        lib.ghostty_key_event_set_action(self._key, lib.GHOSTTY_KEY_ACTION_PRESS)
        lib.ghostty_key_event_set_key(self._key, getattr(lib, f"GHOSTTY_KEY_{name}"))
        lib.ghostty_key_event_set_mods(self._key, mods)
        lib.ghostty_key_event_set_utf8(self._key, kept_alive, len(utf8))
        lib.ghostty_key_event_set_unshifted_codepoint(self._key, ord(plain) if len(plain) == 1 else 0)
        lib.ghostty_key_encoder_setopt_from_terminal(self._key_encoder, self._vt.handle)
        option_is_alt = ffi.new("int*", lib.GHOSTTY_OPTION_AS_ALT_TRUE)
        lib.ghostty_key_encoder_setopt(
            self._key_encoder, lib.GHOSTTY_KEY_ENCODER_OPT_MACOS_OPTION_AS_ALT, option_is_alt
        )
        return _encoded(lib.ghostty_key_encoder_encode, self._key_encoder, self._key)

    def mouse(
        self, action: MouseAction, button: int, x: int, y: int, *, shift: bool, alt: bool, ctrl: bool
    ) -> bytes:
        """The bytes for the mouse at a cell; see `Emulator.encode_mouse`."""
        if action == "move" and self._at == (x, y):
            return b""  # outer terminals that report pixels move many times within a cell
        self._at = (x, y)
        if action == "press":
            self._held |= {button} - _WHEEL
        elif action == "release":
            self._held.discard(button)
        event, encoder = self._mouse, self._mouse_encoder
        lib.ghostty_mouse_event_set_action(event, getattr(lib, f"GHOSTTY_MOUSE_ACTION_{_ACTIONS[action]}"))
        if button in _BUTTONS:
            name = _BUTTONS[button]
            lib.ghostty_mouse_event_set_button(event, getattr(lib, f"GHOSTTY_MOUSE_BUTTON_{name}"))
        else:
            lib.ghostty_mouse_event_clear_button(event)
        lib.ghostty_mouse_event_set_mods(event, shift * _SHIFT | alt * _ALT | ctrl * _CTRL)
        width, height = CELL_PIXELS
        middle = ffi.new("GhosttyMousePosition*", ((x + 0.5) * width, (y + 0.5) * height))
        lib.ghostty_mouse_event_set_position(event, middle[0])
        lib.ghostty_mouse_encoder_setopt_from_terminal(encoder, self._vt.handle)
        size = sized("GhosttyMouseEncoderSize")
        size.cell_width, size.cell_height = width, height
        size.screen_width, size.screen_height = self._vt.columns * width, self._vt.rows * height
        self._set_mouse("SIZE", size)
        self._set_mouse("ANY_BUTTON_PRESSED", ffi.new("bool*", bool(self._held)))
        return _encoded(lib.ghostty_mouse_encoder_encode, encoder, event)

    def paste(self, text: str, bracketed: bool) -> bytes:
        """The bytes for a paste; escape and other control characters in it become spaces."""
        data = text.encode("utf-8", "replace")
        return _encoded(lib.ghostty_paste_encode, ffi.new("char[]", data), len(data), bracketed)

    def focus(self, gained: bool) -> bytes:
        """The bytes for a change of focus."""
        return _encoded(
            lib.ghostty_focus_encode, lib.GHOSTTY_FOCUS_GAINED if gained else lib.GHOSTTY_FOCUS_LOST
        )

    def _set_mouse(self, option: str, value: Any) -> None:
        lib.ghostty_mouse_encoder_setopt(
            self._mouse_encoder, getattr(lib, f"GHOSTTY_MOUSE_ENCODER_OPT_{option}"), value
        )


def _printable(text: str | None) -> bool:
    """Whether it is text, joiners and other invisible marks included, and no control character."""
    return bool(text) and all(unicodedata.category(char) != "Cc" for char in text or "")


def _encoded(encode: Any, *arguments: Any) -> bytes:
    """What `encode` writes: first in a small buffer, then in one of the size it asks for."""
    written = ffi.new("size_t*", 128)
    for _ in range(2):
        buffer = ffi.new("char[]", written[0])
        result = encode(*arguments, buffer, len(buffer), written)
        if result != lib.GHOSTTY_OUT_OF_SPACE:
            break
    check(result, "encode")
    return bytes(ffi.buffer(buffer, written[0]))
