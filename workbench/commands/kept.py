"""Commands about what is kept on the disk: receipts, runs and images."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from workbench.options import FiniteRange, reading_engine

if TYPE_CHECKING:
    from rich.console import Console

    from workbench.link import EngineOptions


class MachineryError(click.ClickException):
    """The command line is right, and yet it cannot be done."""

    exit_code = 3


@click.command(short_help="Print what is known of a task's proof, as JSON.")
@click.argument("task_dir", type=click.Path(path_type=Path))
@reading_engine
def receipt(task_dir: Path, engine: EngineOptions) -> None:
    """Print what is known of a task's proof as JSON, running nothing.

    It says of each case what it came to, when and on what. Exit codes: 0 when the harness holds as its
    files are now, 1 when it does not or when that is not known, 2 and 3 as of check.
    """
    from workbench.check.receipt import tell_receipt

    sys.exit(tell_receipt(task_dir, engine))


@click.command(short_help="Say where runs are kept, and how long they took.")
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


@click.command(short_help="List the images that are kept, or prune them.")
@click.option("--prune", is_flag=True, help="Remove the least recently used that nothing uses.")
@click.option(
    "--keep",
    type=FiniteRange(0),
    metavar="GIB",
    help="With --prune: how much may stay; by default 20.",
)
@click.option("--dry-run", is_flag=True, help="With --prune: say what would go, and leave it.")
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
def images(prune: bool, keep: float | None, dry_run: bool, as_json: bool) -> None:
    """List the images that were built or unpacked and are kept, or prune them.

    With --prune --keep 0 go also the layers that builds in microVMs have kept.
    """
    from workbench import places
    from workbench.console import console
    from workbench.images.errors import ImageError
    from workbench.runs import images as kept

    if (dry_run or keep is not None) and not prune:
        raise click.UsageError("--keep and --dry-run go with --prune")
    if prune and as_json:
        raise click.UsageError("--json lists, and --prune removes")
    directory = places.images_dir()
    try:
        if prune:
            limit = None if keep is None else round(keep * (1 << 30))
            kept.prune_images(console(), directory, limit, dry_run=dry_run)
        elif as_json:
            click.echo(kept.images_as_json(directory))
        else:
            kept.show_images(console(), directory)
    except ImageError as error:
        raise MachineryError(f"{error}; {error.hint}" if error.hint else str(error)) from None
