"""What the terminal widget asks of an emulator, so that another can take this one's place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from rich.segment import Segment

SCROLLBACK = 10_000
"""Lines kept above the screen."""
COPY_LIMIT = 100_000
"""Bytes that a program may put on the clipboard at once (OSC 52); more is refused."""

type MouseAction = Literal["press", "release", "move"]
type SelectBy = Literal["cell", "word", "line"]


class EmulatorMissingError(Exception):
    """There is no emulator for this platform."""


class Row(NamedTuple):
    """One line of the screen."""

    segments: list[Segment]
    """Exactly as many cells as the screen is wide. Text holds no control characters."""
    selected: tuple[int, int] | None
    """First cell selected, and the first after it that is not."""


class Cursor(NamedTuple):
    """Where the program writes next, in cells of what is shown."""

    x: int
    y: int
    block: bool
    """False for a bar or an underline."""


class Match(NamedTuple):
    """A place in what is shown where the text sought stands."""

    y: int
    start: int
    end: int
    """The first cell after it."""
    current: bool


class Scroll(NamedTuple):
    """Which of the kept lines are shown."""

    above: int
    below: int


class Found(NamedTuple):
    """What a search came to."""

    total: int
    current: int
    """From 1, newest first; 0 while none is chosen."""


@dataclass(frozen=True)
class Effects:
    """What a program can make happen outside its screen. Called at the end of `feed`, never within."""

    reply: Callable[[bytes], None]
    """Bytes for the program, such as where the cursor is."""
    bell: Callable[[], None]
    title: Callable[[str], None]
    """Without control characters."""
    copy: Callable[[str], None]
    """Text for the clipboard, at most `COPY_LIMIT` bytes."""


class Emulator(Protocol):
    """A screen that bytes are written on. Not for use from several threads.

    Positions are cells of what is shown, from 0 at the top left.
    """

    @property
    def columns(self) -> int: ...

    @property
    def rows(self) -> int: ...

    def feed(self, data: bytes) -> None:
        """Take output of the program in. Any bytes will do; none raise."""
        ...

    def resize(self, columns: int, rows: int) -> None:
        """Change the size in cells; long lines are wrapped anew."""
        ...

    def set_colors(self, foreground: tuple[int, int, int], background: tuple[int, int, int]) -> None:
        """The colours that programs are told are the default ones, as red, green, blue."""
        ...

    def changed(self) -> Iterator[tuple[int, Row]]:
        """Rows that changed since the iterator before this one came to its end, with their number.

        They are of the moment when the first is asked for, whatever is fed meanwhile. To call again
        before the end gives up the earlier iterator.
        """
        ...

    def close(self) -> None:
        """Free it; nothing may be called afterwards."""
        ...

    @property
    def cursor(self) -> Cursor | None:
        """As of the last `changed` whose rows were asked for; None while hidden or scrolled out of sight."""
        ...

    @property
    def drawing(self) -> bool:
        """Whether the program is in the middle of a picture (mode 2026) that is better not shown yet."""
        ...

    @property
    def alternate(self) -> bool:
        """Whether a full-screen program has the alternate screen, which keeps no lines."""
        ...

    @property
    def wants_mouse(self) -> bool:
        """Whether the program asked for the mouse."""
        ...

    @property
    def scroll(self) -> Scroll: ...

    def scroll_by(self, lines: int) -> None:
        """Show older lines (negative) or newer ones."""
        ...

    def scroll_to_end(self) -> None:
        """Show what is written now."""
        ...

    def text(self) -> str:
        """All that is kept, wrapped lines joined."""
        ...

    def select(self, x: int, y: int, by: SelectBy = "cell") -> None:
        """Begin a selection there."""
        ...

    def select_to(self, x: int, y: int) -> None:
        """Extend the selection up to there."""
        ...

    def select_none(self) -> None: ...

    @property
    def selected(self) -> bool:
        """Whether something is selected."""
        ...

    def selection(self) -> str:
        """The selected text, wrapped lines joined; empty when nothing is selected."""
        ...

    def search(self, text: str) -> Found:
        """Seek `text` in all that is kept, whatever its case; an empty text ends the search."""
        ...

    def search_next(self, *, newer: bool = False) -> Found:
        """Choose the next older match, or newer, round about, and show it."""
        ...

    def matches(self) -> list[Match]:
        """Matches of the search in what is shown."""
        ...

    def encode_key(self, key: str, character: str | None) -> bytes:
        """What the program reads for a key by Textual's name; empty for keys without meaning there."""
        ...

    def encode_mouse(
        self, action: MouseAction, button: int, x: int, y: int, *, shift: bool, alt: bool, ctrl: bool
    ) -> bytes:
        """What the program reads for the mouse; empty where it did not ask.

        Args:
            button: 1 left, 2 middle, 3 right, 4 to 7 the wheel up, down, left, right; 0 none.
        """
        ...

    def encode_paste(self, text: str) -> bytes:
        """Pasted text, in brackets where the program asked for them, without what could end them."""
        ...

    def encode_focus(self, gained: bool) -> bytes:
        """What the program reads when the focus comes or goes; empty where it did not ask."""
        ...


type EmulatorFactory = Callable[[int, int, Effects], Emulator]
