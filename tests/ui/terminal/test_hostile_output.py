"""Hostile output: whatever a program writes, nothing raises and nothing gets out of its cells."""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Callable

import pytest
from rich.cells import cell_len

from tests.ui.terminal.driving import emulator, opened, script
from workbench.ui.terminal.cells import safe_text, safe_title
from workbench.ui.terminal.emulator import Emulator, Row

ROUNDS = 20_000
FINALS = "ABCDEFGHIJKLMPSTXZ@`abcdefghilmnpqrstuvwxyz{|}~"
MODES = (1, 3, 6, 7, 25, 47, 69, 1000, 1003, 1006, 1049, 2004, 2026, 2027, 2048)
COMMANDS = (0, 2, 4, 7, 8, 10, 11, 52, 104, 133, 777, 1337, 5522)
NUMBERS = (0, 1, 2, 7, 38, 48, 255, 999, 65536, 2**40)
WORDS = [
    "x",
    "hello ",
    "漢字",
    "👨‍👩‍👧",
    "🇩🇪🇫",
    "e\u0301\u0302",
    "\u202e",
    "\u200d",
    "\ufeff",
    "\t",
    "\ud800",
    "\U000e0041",
]
CONTROLS = (b"\r", b"\n", b"\r\n", b"\b", b"\x0e", b"\x0f", b"\x1b", b"\x9b", b"\x85")


def garbage(rng: random.Random) -> bytes:
    """Something between plain text and a torn control sequence."""
    numbers = ";".join(str(rng.choice(NUMBERS)) for _ in range(rng.randrange(5)))
    word = rng.choice(WORDS).encode("utf-8", "surrogatepass")
    end = rng.choice((b"\x07", b"\x1b\\", b""))
    kinds: list[Callable[[], bytes]] = [
        lambda: word * rng.randrange(1, 30),
        lambda: f"\x1b[{rng.choice(('', '?', '>', '=', '!'))}{numbers}{rng.choice(FINALS)}".encode(),
        lambda: f"\x1b[?{rng.choice(MODES)}{rng.choice('hl')}".encode(),
        lambda: f"\x1b[38;2;{rng.randrange(300)};{rng.randrange(300)};{rng.randrange(300)}m".encode(),
        lambda: b"\x1b]%d;%s;%s%s" % (rng.choice(COMMANDS), word, numbers.encode(), end),
        lambda: b"\x1b" + bytes([rng.choice(b"_P^X")]) + rng.randbytes(rng.randrange(20)) + end,
        lambda: b"\x1b" + bytes([rng.randrange(32, 127)]),
        lambda: rng.choice(CONTROLS) * rng.randrange(1, 60),
        lambda: rng.randbytes(rng.randrange(40)),
    ]
    return rng.choice(kinds)()


def meddle(rng: random.Random, screen: Emulator) -> None:
    """Something that the user might do at any moment."""
    x, y = rng.randrange(-2, 200), rng.randrange(-2, 80)
    deeds: list[Callable[[], object]] = [
        lambda: screen.resize(rng.randrange(1, 140), rng.randrange(1, 60)),
        lambda: screen.scroll_by(rng.randrange(-100, 100)),
        lambda: screen.select(x, y, rng.choice(("cell", "word", "line"))),
        lambda: screen.select_to(x, y),
        lambda: screen.selection(),
        lambda: screen.search(rng.choice(("", "x", "hello", "漢", "\ud800"))),
        lambda: screen.search_next(newer=rng.random() < 0.5),
        lambda: screen.matches(),
        lambda: screen.encode_mouse("press", rng.randrange(8), x, y, shift=False, alt=False, ctrl=False),
    ]
    rng.choice(deeds)()


def check(screen: Emulator, row: Row) -> None:
    """A row is as wide as the screen, and text that any terminal takes for text."""
    text = "".join(part.text for part in row.segments)
    assert sum(cell_len(part.text) for part in row.segments) == screen.columns, repr(list(row.segments))
    assert not {unicodedata.category(char) for char in text} & {"Cc", "Cs", "Zl", "Zp"}, row
    assert not set(text) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff\u200b"), row
    text.encode()
    if row.selected:
        assert 0 <= row.selected[0] < row.selected[1] <= screen.columns


@pytest.mark.parametrize("seed", range(4))
def test_random_sequences_and_resizes_raise_nothing_and_stay_in_their_cells(seed: int) -> None:
    rng = random.Random(seed)
    screen, happened = emulator(80, 24)
    for number in range(ROUNDS // 4):
        screen.feed(garbage(rng))
        if number % 5 == 0:
            meddle(rng, screen)
        if number % 3 == 0:
            for y, row in screen.changed():
                assert y < screen.rows
                check(screen, row)
            cursor = screen.cursor
            assert cursor is None or (cursor.x < screen.columns and cursor.y < screen.rows)
    assert all(title == safe_title(title) for title in happened.titles)
    screen.close()


@pytest.mark.parametrize(
    ("text", "width", "safe"),
    [
        ("a", 1, "a"),
        ("", 1, " "),
        ("\0", 1, " "),
        ("漢", 2, "漢"),
        ("👨‍👩‍👧", 2, "👨‍👩‍👧"),
        ("\x1b", 1, "\ufffd"),
        ("\x9b", 1, "\ufffd"),
        ("\ud800", 1, "\ufffd"),
        ("\u202e", 1, "\ufffd"),
        ("a\u202e", 1, "a"),
        ("a\u200d", 1, "a"),
        ("漢", 1, "\ufffd"),
        ("a", 2, "a "),
    ],
)
def test_text_of_a_cell_is_harmless_and_as_wide_as_the_cell(text: str, width: int, safe: str) -> None:
    assert safe_text(text, width) == safe


async def test_garbage_in_the_window_neither_ends_nor_leaves_the_app() -> None:
    """The same through a pty and the widget, with the real screen around it."""
    flood = script(
        "import os, random, sys\n"
        "rng = random.Random(7)\n"
        "for _ in range(3000):\n"
        "    os.write(1, rng.choice([b'\\x1b[', b'\\x1b]', b'\\x1b_', b'\\x9b', b'']) + rng.randbytes(60))\n"
        "os.write(1, b'\\x18\\x1b\\\\\\x1bc\\x1b[?2026l[b]done[/b]')\n"
        "sys.stdin.read(1)\n"
    )
    async with opened(flood) as driven:
        await driven.see("[b]done[/b]")
        assert driven.app.is_running
        assert {len(strip.text) for strip in driven.app.screen._compositor.render_strips()} == {60}
