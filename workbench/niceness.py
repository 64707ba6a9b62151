"""Who comes first where the host has too little for all: whoever sits at it, and the face before them."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

NICE = 10
"""Of engines and all that they start."""


def give_way() -> None:
    """Let others go before this process, and what it starts in this session."""
    os.nice(NICE)
    session_gives_way("self")


def session_gives_way(pid: int | str) -> None:
    """Let other sessions go before that of a process.

    With autogroups (sched(7)), which most desktops have, Linux shares the processor among sessions first, and
    what a process is worth counts only within its own. Without privileges ten such wishes a second are heard.
    """
    with suppress(OSError):
        Path(f"/proc/{pid}/autogroup").write_text(str(NICE))
