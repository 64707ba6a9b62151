"""The commands; each a few lines that hand over.

Nothing heavy is imported before a command is known: `--help` and the first paint must come at once.
"""

from __future__ import annotations

import os
import shutil
import sys
from difflib import get_close_matches
from importlib.metadata import version
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING

import click

from workbench.options import reading_engine, running_engine, watching_engine
from workbench.pipes import ending_quietly

if TYPE_CHECKING:
    from rich.console import Console

    from workbench.link import EngineOptions

CHECK_HELP = """Replay every case of each task once, and say whether its harness holds.

TASK_DIR is a task, or a directory of tasks. Its cases are the oracle (must pass), nop (must fail),
and the wrong solutions in its negatives/ directory (must fail).

\b
Verdicts:
  HOLDS        every case came out as it must
  BROKEN       the oracle, or another solution that must pass, does not
  CANNOT FAIL  a case that must fail passed
  FLAKY        a case did not come out the same twice
  UNPROVEN     a run could not be judged: it raised, or failed for the wrong reason

\b
Exit codes:
  0    every harness holds
  1    one does not
  2    a task or the command line is wrong
  3    the machinery failed: no provider, or the engine died
  130  interrupted
"""


class MachineryError(click.ClickException):
    """The command line is right, and yet it cannot be done."""

    exit_code = 3


class Commands(click.Group):
    """Commands, and `workbench TASK_DIR` as short for `workbench open TASK_DIR`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        own = {name for param in self.get_params(ctx) for name in param.opts}
        if args and args[0] not in self.commands and args[0].partition("=")[0] not in own:
            near = get_close_matches(args[0], [name for name in self.commands if name != "open"], 1)
            if near and not os.path.lexists(args[0]):
                raise click.UsageError(f"{args[0]} is no command; did you mean {near[0]}?", ctx)
            args = ["open", *args]
        return super().parse_args(ctx, args)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(version("harbor-workbench"), prog_name="workbench", message="%(prog)s %(version)s")
def commands() -> None:
    """A workbench for Harbor tasks: does the harness hold?

    `workbench TASK_DIR` opens a task in the terminal. A task whose directory is named as one of the
    commands below is opened by `workbench ./NAME`.
    """


@commands.command("open", short_help="Open a task in the terminal (the default).")
@click.argument("task_dir", type=click.Path(path_type=Path))
@click.option("--paused", is_flag=True, help="Replay nothing until asked, and do not watch.")
@click.option("--no-shell", is_flag=True, help="Open no shell on the task's image at the start.")
@watching_engine
def open_(task_dir: Path, paused: bool, no_shell: bool, engine: EngineOptions) -> None:
    """Open a task in the terminal: watch it, replay its cases, look at what they did."""
    from workbench.check.targets import MARK
    from workbench.link import EngineLink

    if not task_dir.is_dir():
        raise click.UsageError(f"{task_dir}: there is no such directory; a task is a directory with a {MARK}")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise click.UsageError(f"the screen needs a terminal; without one, use `workbench check {task_dir}`")
    from workbench.ui.app import run

    run(EngineLink(engine), task_dir.resolve(), paused=paused, shell=not no_shell)


@commands.command(help=CHECK_HELP, short_help="Say whether tasks' harnesses hold, without a screen.")
@click.argument("task_dirs", metavar="TASK_DIR...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--case", "cases", metavar="NAME", multiple=True, help="Run this case alone; may be repeated.")
@click.option(
    "--cached", is_flag=True, help="Run only the cases of which no receipt speaks as their files are now."
)
@click.option("--json", "as_json", is_flag=True, help="Print the event stream, one JSON object a line.")
@click.option("--junit", metavar="FILE", type=click.Path(path_type=Path), help="Write a JUnit file too.")
@running_engine
def check(
    task_dirs: tuple[Path, ...],
    cases: tuple[str, ...],
    cached: bool,
    as_json: bool,
    junit: Path | None,
    engine: EngineOptions,
) -> None:
    from workbench.check.run import CheckOptions
    from workbench.check.run import check as run_check

    options = CheckOptions(
        paths=task_dirs, engine=engine, cases=cases, cached=cached, json=as_json, junit=junit
    )
    sys.exit(run_check(options))


@commands.command()
@click.argument("task_dir", type=click.Path(path_type=Path))
@reading_engine
def receipt(task_dir: Path, engine: EngineOptions) -> None:
    """Print what is known of a task's proof as JSON, running nothing.

    It says of each case what it came to, when and on what. Exit codes: 0 when the harness holds as its
    files are now, 1 when it does not or when that is not known, 2 and 3 as of check.
    """
    from workbench.check.receipt import tell_receipt

    sys.exit(tell_receipt(task_dir, engine))


@commands.command()
@click.argument("task_dir", required=False, type=click.Path(path_type=Path))
@click.option(
    "--keep", type=click.IntRange(0), metavar="N", help="Forget all but the newest N runs of each case."
)
@click.option("--dry-run", is_flag=True, help="With --keep: say what would go, and leave it.")
@click.option("--stats", is_flag=True, help="Say how long the phases of each case take.")
@click.option("--json", "as_json", is_flag=True, help="With --stats: print them as JSON.")
def runs(task_dir: Path | None, keep: int | None, dry_run: bool, stats: bool, as_json: bool) -> None:
    """Say where runs are kept, of one task or of all; with --keep, forget the older ones.

    With --stats, say how long they took instead, median and 95th percentile, by case and phase. Runs that
    came out as they must stand apart from others, and re-verifications from whole trials.
    """
    from workbench import places
    from workbench.console import console
    from workbench.runs import show

    out, state = console(), places.state_dir()
    if dry_run and keep is None:
        raise click.UsageError("--dry-run goes with --keep N")
    if as_json and not stats:
        raise click.UsageError("--json goes with --stats")
    if stats and keep is not None:
        raise click.UsageError("--stats and --keep do not go together")
    if stats:
        _stats(out, state, task_dir, as_json)
        return
    if keep is not None:
        sys.exit(0 if show.prune(out, state, task_dir, keep, dry_run=dry_run) else 3)
    show.show_runs(out, state, task_dir) if task_dir else show.show_tasks(out, state)


def _stats(out: Console, state: Path, task_dir: Path | None, as_json: bool) -> None:
    import msgspec

    from workbench.proof.database import DatabaseError
    from workbench.runs.records import read_stats
    from workbench.runs.stats import show_stats

    try:
        found = read_stats(state, task_dir)
    except DatabaseError as error:
        raise MachineryError(str(error)) from None
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(found)).decode())
    else:
        show_stats(out, found)


@commands.command()
@click.option("--prune", is_flag=True, help="Remove the least recently used that nothing uses.")
@click.option(
    "--keep",
    type=click.FloatRange(0),
    metavar="GIB",
    help="With --prune: how much may stay; by default 20.",
)
@click.option("--dry-run", is_flag=True, help="With --prune: say what would go, and leave it.")
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
def images(prune: bool, keep: float | None, dry_run: bool, as_json: bool) -> None:
    """List the images that were built or unpacked and are kept, or prune them."""
    from workbench import places
    from workbench.commands import images
    from workbench.console import console
    from workbench.images.errors import ImageError

    if (dry_run or keep is not None) and not prune:
        raise click.UsageError("--keep and --dry-run go with --prune")
    if prune and as_json:
        raise click.UsageError("--json lists, and --prune removes")
    directory = places.images_dir()
    try:
        if prune:
            limit = None if keep is None else round(keep * (1 << 30))
            images.prune_images(console(), directory, limit, dry_run=dry_run)
        elif as_json:
            click.echo(images.images_as_json(directory))
        else:
            images.show_images(console(), directory)
    except ImageError as error:
        raise MachineryError(f"{error}; {error.hint}" if error.hint else str(error)) from None


@commands.command()
@click.argument("name", required=False)
@click.argument("directory", required=False, type=click.Path(path_type=Path))
def samples(name: str | None, directory: Path | None) -> None:
    """List the sample tasks, or copy the one named NAME to DIRECTORY.

    Without DIRECTORY, it is copied to one of its own name, here.
    """
    from workbench import places

    found = {path.name: path for path in sorted(places.shipped("sample_tasks").iterdir()) if path.is_dir()}
    if name is None:
        for path in found.values():
            click.echo(path)
        return
    if name not in found:
        near = get_close_matches(name, found, 1)
        hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(found)}"
        raise click.UsageError(f"there is no sample {name!r}; {hint}")
    target = directory or Path(name)
    try:
        shutil.copytree(found[name], target)
    except FileExistsError:
        raise click.UsageError(f"{target}: is there already; name a directory that is not") from None
    click.echo(target)


def main() -> None:
    """Run the command line.

    Not by `commands.main`, which takes a closed pipe for a failure.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        with ending_quietly(), commands.make_context("workbench", sys.argv[1:]) as context:
            commands.invoke(context)
    except click.exceptions.Exit as end:
        sys.exit(end.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(130)
    except OSError as error:
        # Such as a full disk under standard output.
        click.echo(f"Error: {error}", err=True)
        sys.exit(3)
