"""A recording as SVG pictures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from workbench.pictures.stage import Size, staged
from workbench.recording.recording import Recording


async def write_pictures(
    recording: Recording,
    task: str,
    directory: Path,
    name: str,
    moments: Sequence[float],
    size: Size,
    keys: Sequence[str] = (),
) -> list[Path]:
    """Draw the screen at some moments, into `NAME-SECONDS.svg`; of the end alone, into `NAME.svg`.

    Args:
        directory: Made where it is missing.
        moments: Seconds from the recording's start; the end where there are none.
        keys: Pressed before each picture, such as "3" or "right_square_bracket".

    Returns:
        The files, in the order of the moments.

    Raises:
        OSError: a file cannot be written.
        LeftError: one of the keys closes the screen.
    """
    directory.mkdir(parents=True, exist_ok=True)
    written = []
    async with staged(recording, task, size) as stage:
        for moment in sorted(moments) or [recording.duration]:
            await stage.show(moment)
            await stage.press(*keys)
            file = directory / (f"{name}-{moment:g}.svg" if moments else f"{name}.svg")
            file.write_text(stage.app.export_screenshot(), encoding="utf-8")
            written.append(file)
    return written
