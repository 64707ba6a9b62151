"""Keys, mouse, pastes and focus as the program reads them."""

from __future__ import annotations

import pytest

from tests.ui.terminal.driving import emulator

PLAIN = dict.fromkeys(("shift", "alt", "ctrl"), False)


@pytest.mark.parametrize(
    ("key", "character", "sent"),
    [
        ("a", "a", b"a"),
        ("A", "A", b"A"),
        ("é", "é", "é".encode()),
        ("漢", "漢", "漢".encode()),
        ("\u200d", "\u200d", "\u200d".encode()),
        ("plus", "+", b"+"),
        ("space", " ", b" "),
        ("enter", "\r", b"\r"),
        ("tab", "\t", b"\t"),
        ("shift+tab", None, b"\x1b[Z"),
        ("escape", "\x1b", b"\x1b"),
        ("backspace", "\x7f", b"\x7f"),
        ("backspace", "\b", b"\b"),
        ("ctrl+h", None, b"\b"),
        ("ctrl+c", "\x03", b"\x03"),
        ("ctrl+p", "\x10", b"\x10"),
        ("ctrl+q", "\x11", b"\x11"),
        ("ctrl+at", "\x00", b"\x00"),
        ("ctrl+space", None, b"\x00"),
        ("ctrl+backslash", "\x1c", b"\x1c"),
        ("ctrl+right_square_bracket", "\x1d", b"\x1d"),
        ("ctrl+left_square_bracket", None, b"\x1b"),
        ("ctrl+underscore", "\x1f", b"\x1f"),
        ("ctrl+i", None, b"\t"),
        ("ctrl+m", None, b"\r"),
        ("alt+x", None, b"\x1bx"),
        ("alt+shift+x", None, b"\x1bX"),
        ("alt+enter", None, b"\x1b\r"),
        ("ctrl+alt+a", None, b"\x1b\x01"),
        ("up", None, b"\x1b[A"),
        ("ctrl+left", None, b"\x1b[1;5D"),
        ("shift+up", None, b"\x1b[1;2A"),
        ("home", None, b"\x1b[H"),
        ("delete", None, b"\x1b[3~"),
        ("pageup", None, b"\x1b[5~"),
        ("f1", None, b"\x1bOP"),
        ("f12", None, b"\x1b[24~"),
        ("left_shift", None, b""),
        ("<ignore>", None, b""),
    ],
)
def test_a_key_is_sent_as_xterm_sends_it(key: str, character: str | None, sent: bytes) -> None:
    screen, _ = emulator()
    assert screen.encode_key(key, character) == sent


def test_arrows_follow_the_programs_cursor_key_mode() -> None:
    screen, _ = emulator()
    screen.feed(b"\x1b[?1h")
    assert screen.encode_key("up", None) == b"\x1bOA"


def test_a_program_that_asks_for_the_kitty_protocol_gets_it() -> None:
    screen, _ = emulator()
    screen.feed(b"\x1b[>1u")
    assert screen.encode_key("ctrl+i", None) == b"\x1b[105;5u"
    assert screen.encode_key("escape", "\x1b") == b"\x1b[27u"


def test_the_mouse_is_told_only_to_programs_that_ask_and_as_they_ask() -> None:
    screen, _ = emulator()
    assert not screen.wants_mouse
    assert screen.encode_mouse("press", 1, 3, 2, **PLAIN) == b""
    screen.feed(b"\x1b[?1002h\x1b[?1006h")
    assert screen.wants_mouse
    assert screen.encode_mouse("press", 1, 3, 2, **PLAIN) == b"\x1b[<0;4;3M"
    assert screen.encode_mouse("move", 1, 4, 2, **PLAIN) == b"\x1b[<32;5;3M"
    assert screen.encode_mouse("move", 1, 4, 2, **PLAIN) == b""
    assert screen.encode_mouse("release", 1, 4, 2, **PLAIN) == b"\x1b[<0;5;3m"
    assert screen.encode_mouse("move", 0, 5, 2, **PLAIN) == b""
    assert screen.encode_mouse("press", 4, 5, 2, **PLAIN) == b"\x1b[<64;6;3M"
    assert screen.encode_mouse("press", 3, 0, 0, shift=False, alt=True, ctrl=True) == b"\x1b[<26;1;1M"


def test_a_paste_is_bracketed_where_the_program_asked_and_cannot_end_the_brackets() -> None:
    screen, _ = emulator()
    assert screen.encode_paste("a\nb") == b"a\rb"
    screen.feed(b"\x1b[?2004h")
    assert screen.encode_paste("a\nb") == b"\x1b[200~a\nb\x1b[201~"
    hostile = screen.encode_paste("x\x1b[201~rm -rf ~\n\x03")
    assert hostile.startswith(b"\x1b[200~x")
    assert hostile.count(b"\x1b") == 2
    assert b"\x03" not in hostile


def test_a_long_paste_is_whole() -> None:
    screen, _ = emulator()
    assert screen.encode_paste("é" * 100_000) == "é".encode() * 100_000


def test_the_focus_is_told_only_to_programs_that_ask() -> None:
    screen, _ = emulator()
    assert screen.encode_focus(True) == b""
    screen.feed(b"\x1b[?1004h")
    assert (screen.encode_focus(True), screen.encode_focus(False)) == (b"\x1b[I", b"\x1b[O")
