"""Printing for people, without a screen: what the headless commands share."""

from __future__ import annotations

import re

from rich.console import Console, ConsoleDimensions

_PIPE_WIDTH = 1000
_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_].*?(?:\x07|\x1b\\|$)|[ -/]*[0-~])", re.DOTALL)
_UNPRINTABLE = re.compile(r"[^\t\n\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def console(*, stderr: bool = False) -> Console:
    """A console for one of the standard streams; into a pipe, lines keep their length.

    Nothing printed through it is taken for markup. A closed pipe raises `BrokenPipeError`.
    """
    made = _Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    if not made.is_terminal:
        made.size = ConsoleDimensions(_PIPE_WIDTH, 25)
    return made


def plain(text: str) -> str:
    """Text that is safe on any terminal and in XML: no escape sequences, no control characters."""
    return _UNPRINTABLE.sub("", _ESCAPE.sub("", text.replace("\r\n", "\n").replace("\r", "\n")))


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Leave it to the caller; Rich's own way is to exit on the spot."""
        raise
