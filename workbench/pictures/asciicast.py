"""A recording as an asciicast, version 2: https://docs.asciinema.org/manual/asciicast/v2/."""

from __future__ import annotations

import json
from pathlib import Path, PurePath

from rich.console import Console

from workbench.pictures.stage import Size, Stage, staged
from workbench.recording.recording import Recording

FRAME = 0.125
"""Recorded seconds between two frames, at the least."""
IDLE = 2.0
"""Seconds that players are asked to make of longer ones in which nothing happens."""
_CLEAR, _RESET, _HIDE, _SHOW = "\x1b[2J", "\x1b[0m", "\x1b[?25l", "\x1b[?25h"


async def write_asciicast(recording: Recording, task: str, file: Path, size: Size) -> int:
    """Draw the screen frame by frame, and write what changes from one to the next.

    Returns:
        The number of frames in which something changed.

    Raises:
        OSError: the file cannot be written.
    """
    columns, lines = size
    header = {
        "version": 2,
        "width": columns,
        "height": lines,
        "timestamp": int(recording.start),
        "idle_time_limit": IDLE,
        "title": f"workbench: {PurePath(task).name}",
        "env": {"TERM": "xterm-256color"},
    }
    drawn = 0
    with file.open("w", encoding="utf-8") as out:
        out.write(json.dumps(header) + "\n")
        async with staged(recording, task, size) as stage:
            screen = _Screen(lines)
            moment = 0.0
            while True:
                await stage.show(moment)
                if change := screen.change(stage):
                    drawn += 1
                    out.write(json.dumps([round(moment, 3), "o", change]) + "\n")
                if moment >= recording.duration:
                    break
                moment = min(max(moment + FRAME, stage.stays_until(moment)), recording.duration)
        out.write(json.dumps([round(recording.duration, 3), "o", _RESET + _SHOW]) + "\n")
    return drawn


class _Screen:
    """What a player shows."""

    def __init__(self, lines: int) -> None:
        self._rows = [""] * lines
        self._begun = False
        self._console = Console(color_system="truecolor", force_terminal=True, legacy_windows=False)

    def change(self, stage: Stage) -> str:
        """What to print so that it shows what the stage does; empty where it does already."""
        printed = "" if self._begun else _CLEAR + _HIDE
        self._begun = True
        for number, strip in enumerate(stage.strips()[: len(self._rows)]):
            row = strip.render(self._console)
            if row != self._rows[number]:
                self._rows[number] = row
                printed += f"\x1b[{number + 1};1H{_RESET}{row}"
        return printed
