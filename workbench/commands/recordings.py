"""Commands about recorded sessions: playing them, and making other things of them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import click

from workbench.options import FiniteRange, need_a_terminal

if TYPE_CHECKING:
    from workbench.recording.recording import Recording


def _size(ctx: click.Context, param: click.Parameter, value: str) -> tuple[int, int]:
    columns, _, lines = value.partition("x")
    if columns.isdecimal() and lines.isdecimal() and 20 <= int(columns) <= 1000 and 10 <= int(lines) <= 1000:
        return int(columns), int(lines)
    raise click.BadParameter(f"{value!r} is no size such as 160x50, of at least 20x10")


@click.command(short_help="Play a recorded session: no engine, no machine.")
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--speed", type=FiniteRange(0.01, 1000), default=1.0, help="How fast; by default 1.")
@click.option("--loop", is_flag=True, help="Begin again at the end.")
@click.option("--task", metavar="NAME", default="", help="Of several tasks in the recording, show this one.")
@click.option("--plain", is_flag=True, help="Lines of text and no drawing, such as for a screen reader.")
def play(file: Path | None, speed: float, loop: bool, task: str, plain: bool) -> None:
    """Play a recorded session in the terminal: no engine, no machine.

    Space pauses, left and right go back and forth (with shift by a minute), plus and minus change the speed.
    Two recordings ship along and are played by their names: `slugify`, also played without FILE, is an
    author's session, and `demo` many trials at once. `--record` makes one, and what `check --json` prints is
    one too. With --plain, it is told in lines as time goes by, to its end.
    """
    recording, shown = _recording(file, task)
    if plain:
        from workbench.ui import plain_playing

        plain_playing.play(recording, Path(shown), speed=speed, loop=loop)
        return
    need_a_terminal("use `workbench export`, or --plain")
    from workbench.ui.playing import play

    play(recording, Path(shown), speed=speed, loop=loop)


@click.command(short_help="Make pictures or an asciicast of a recorded session.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--svg", metavar="DIR", type=click.Path(path_type=Path), help="Draw pictures into a directory.")
@click.option(
    "--at",
    "moments",
    type=FiniteRange(0),
    multiple=True,
    metavar="SECONDS",
    help="With --svg: when; by default at the end. May be repeated.",
)
@click.option(
    "--press",
    "keys",
    metavar="KEYS",
    default="",
    help="With --svg: keys to press before, separated by commas, such as `3,right_square_bracket`.",
)
@click.option("--asciicast", metavar="FILE", type=click.Path(path_type=Path), help="Make an asciicast of it.")
@click.option("--size", default="160x50", callback=_size, help="The screen's columns and lines.")
@click.option(
    "--neutral",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write the recording again, "
    "with nothing in it that tells where and when it was made, but for what machines printed.",
)
@click.option("--task", metavar="NAME", default="", help="Of several tasks in the recording, show this one.")
def export(
    file: Path,
    svg: Path | None,
    moments: tuple[float, ...],
    keys: str,
    asciicast: Path | None,
    size: tuple[int, int],
    neutral: Path | None,
    task: str,
) -> None:
    """Make pictures, an asciicast or a neutral copy of a recorded session."""
    if not (svg or asciicast or neutral):
        raise click.UsageError("say what to make: --svg DIR, --asciicast FILE or --neutral FILE")
    recording, shown = _recording(file, task)
    if svg:
        from workbench.pictures.stage import LeftError
        from workbench.pictures.svg import write_pictures
        from workbench.ui.keymap import is_key

        pressed = tuple(filter(None, keys.split(",")))
        for key in pressed:
            if not is_key(key):
                raise click.UsageError(f"--press: there is no key {key!r}")
        drawing = write_pictures(recording, shown, svg, file.stem, moments, size, pressed)
        try:
            for picture in asyncio.run(drawing):
                click.echo(picture)
        except LeftError:
            raise click.UsageError(
                f"--press: {keys!r} closes the screen, so there is nothing to draw"
            ) from None
    if asciicast:
        from workbench.pictures.asciicast import write_asciicast

        asyncio.run(write_asciicast(recording, shown, asciicast, size))
        click.echo(asciicast)
    if neutral:
        from workbench.events import encode
        from workbench.recording.neutral import neutral as neutralised

        neutral.write_bytes(b"".join(map(encode, neutralised(recording.events))))
        click.echo(neutral)


def _recording(file: Path | None, task: str) -> tuple[Recording, str]:
    """A recording, and the directory of the task to show of it."""
    from workbench import places
    from workbench.recording.recording import RecordingError, read_recording

    shipped = {path.stem: path for path in (places.shipped("sample_tasks") / "recordings").glob("*.jsonl")}
    if file is None:
        file = shipped["slugify"]
    elif not file.is_file():
        file = shipped.get(str(file), file)
    try:
        recording = read_recording(file)
        return recording, recording.task(task)
    except RecordingError as error:
        raise click.UsageError(str(error)) from None
