"""Who comes first where the host has too little for all: a screen, before what runs behind it."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

NICE = 10
"""Of an engine behind a screen, and of all that it starts."""


def give_way() -> None:
    """Let others go before this process, and before all that it starts."""
    os.nice(NICE)
    session_is_worth_as_much("self")


def session_is_worth_as_much(pid: int | str) -> None:
    """Make the session of a process that was started here worth no more than this process.

    With autogroups (sched(7)), which most desktops have, Linux shares the processor among sessions first, and
    what a process is worth counts only within its own. Without privileges ten such wishes a second are heard.
    """
    if (nice := os.getpriority(os.PRIO_PROCESS, 0)) > 0:
        with suppress(OSError):
            Path(f"/proc/{pid}/autogroup").write_text(str(nice))
