"""The commands; each a few lines that hand over.

Nothing heavy is imported before a command is known: `--help` and the first paint must come at once.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from difflib import get_close_matches
from importlib.metadata import version
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING

import click

from workbench.commands import kept, recordings, settings
from workbench.options import agents, need_a_terminal, record, running_engine, watching_engine
from workbench.pipes import ending_quietly

if TYPE_CHECKING:
    from workbench.cases.case import AgentSpec
    from workbench.link import EngineLink, EngineOptions
    from workbench.ui.source import EventSource

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


@commands.command("open", short_help="Open a task, or trials, in the terminal (the default).")
@click.argument("task_dir", metavar="DIRECTORY", type=click.Path(path_type=Path))
@click.option("--paused", is_flag=True, help="Replay nothing until asked, and do not watch.")
@click.option("--no-shell", is_flag=True, help="Open no shell on the task's image at the start.")
@click.option("--plain", is_flag=True, help="Lines of text and no drawing, such as for a screen reader.")
@click.option("--no-bell", is_flag=True, help="Do not ring when a verdict turns while you look elsewhere.")
@click.option(
    "--config", metavar="FILE", type=click.Path(path_type=Path), help="Settings that go before all others."
)
@agents
@record
@watching_engine
def open_(
    task_dir: Path,
    paused: bool,
    no_shell: bool,
    plain: bool,
    no_bell: bool,
    config: Path | None,
    agents: tuple[AgentSpec, ...],
    record: Path | None,
    engine: EngineOptions,
) -> None:
    """Open a task in the terminal: watch it, replay its cases, look at what they did.

    DIRECTORY is a task's. A trial's, a job's or one with jobs in it, as `harbor run` leaves them, is opened
    to look at the trials.
    """
    from workbench.check.targets import has_trials
    from workbench.link import EngineLink
    from workbench.task.marked import CONFIG

    if not task_dir.is_dir():
        raise click.UsageError(
            f"{task_dir}: there is no such directory; a task is a directory with a {CONFIG}"
        )
    if config is not None and not config.is_file():
        raise click.UsageError(f"{config}: there is no such settings file")
    recorded = _recorder(record, task_dir)
    path: Path | None = task_dir.resolve()
    if not plain:
        need_a_terminal(f"use `workbench check {task_dir}`, or --plain")
        engine = engine.behind_a_screen()
    while path:
        elsewhere = has_trials(path)
        source = recorded(EngineLink(engine.showing(path) if elsewhere else engine))
        if plain:
            from workbench.ui import plain as lines

            lines.run(source, path, paused=paused or elsewhere, agents=agents)
            return
        from workbench.ui.app import run

        path = run(
            source,
            path,
            config=config,
            bell=not no_bell,
            paused=paused or elsewhere,
            agents=agents,
            shell=not (no_shell or elsewhere),
        )


@commands.command()
@click.argument("task_dir", type=click.Path(path_type=Path))
@click.option("-k", "times", type=click.IntRange(1, 200), default=16, help="How many trials; by default 16.")
@click.option(
    "--case", metavar="NAME", default="", help="Of which case; by default the agent's, else the oracle."
)
@click.option("--present", is_flag=True, help="Larger letters and fewer words, to be read from afar.")
@agents
@record
@running_engine
def demo(
    task_dir: Path,
    times: int,
    case: str,
    present: bool,
    agents: tuple[AgentSpec, ...],
    record: Path | None,
    engine: EngineOptions,
) -> None:
    """Run one case of a task many times, and show all its trials live.

    Each is an ordinary trial: repeats that come out otherwise than others make the case flaky.
    """
    from workbench.check.targets import has_trials
    from workbench.link import EngineLink

    if not task_dir.is_dir():
        raise click.UsageError(f"{task_dir}: there is no such directory")
    if has_trials(task_dir):
        raise click.UsageError(
            f"{task_dir}: has trials, which ran already; `workbench {task_dir}` opens them, and `D` there "
            "shows all of a case"
        )
    if len(agents) > 1 and not case:
        names = " or ".join(repr(agent.case) for agent in agents)
        raise click.UsageError(f"trials of one case are shown; say which by --case: {names}")
    need_a_terminal(f"use `workbench check {task_dir}`")
    from workbench.ui.app import Demo, run

    source = _recorder(record, task_dir)(EngineLink(engine.behind_a_screen()))
    case = case or (agents[0].case if agents else "oracle")
    demo = Demo(case, times, present)
    run(source, task_dir.resolve(), paused=True, agents=agents, shell=False, demo=demo)


def _recorder(path: Path | None, task_dir: Path) -> Callable[[EngineLink], EventSource]:
    """Wraps engines so that what they tell is recorded, in one file for all."""
    if path is None:
        return lambda link: link
    if path.resolve().is_relative_to(task_dir.resolve()):
        # Each line would be a save, of which the next line tells.
        raise click.UsageError(f"{path}: is in the task, which is watched; record to a file outside of it")
    from workbench.recording.recorder import Recorded, Recorder, RecorderError

    try:
        recorder = Recorder(path)
    except RecorderError as error:
        raise click.UsageError(str(error)) from None
    return lambda link: Recorded(link, recorder)


@commands.command(help=CHECK_HELP, short_help="Say whether tasks' harnesses hold, without a screen.")
@click.argument("task_dirs", metavar="TASK_DIR...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--case", "cases", metavar="NAME", multiple=True, help="Run this case alone; may be repeated.")
@click.option(
    "--cached", is_flag=True, help="Run only the cases of which no receipt speaks as their files are now."
)
@click.option("--json", "as_json", is_flag=True, help="Print the event stream, one JSON object a line.")
@click.option("--junit", metavar="FILE", type=click.Path(path_type=Path), help="Write a JUnit file too.")
@agents
@record
@running_engine
def check(
    task_dirs: tuple[Path, ...],
    cases: tuple[str, ...],
    cached: bool,
    as_json: bool,
    junit: Path | None,
    agents: tuple[AgentSpec, ...],
    record: Path | None,
    engine: EngineOptions,
) -> None:
    from workbench.check.run import CheckOptions
    from workbench.check.run import check as run_check

    options = CheckOptions(
        paths=task_dirs,
        engine=engine,
        cases=cases,
        agents=agents,
        cached=cached,
        json=as_json,
        junit=junit,
        record=record,
    )
    sys.exit(run_check(options))


@commands.command(short_help="Say who can make machines and build images here.")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
@click.option("--again", is_flag=True, help="Try a microVM even when it is known how that went.")
def doctor(as_json: bool, again: bool) -> None:
    """Say who can make machines and build images here, and how to get more.

    Exit codes: 0 when machines can be made, 3 when not.
    """
    from workbench.doctor.run import doctor

    sys.exit(doctor(as_json=as_json, again=again))


@commands.command(short_help="List the sample tasks, or copy one.")
@click.argument("name", required=False)
@click.argument("directory", required=False, type=click.Path(path_type=Path))
def samples(name: str | None, directory: Path | None) -> None:
    """List the sample tasks, or copy the one named NAME to DIRECTORY.

    Without DIRECTORY, it is copied to one of its own name, here.
    """
    from workbench import places
    from workbench.task.marked import CONFIG

    tasks = sorted(places.shipped("sample_tasks").glob(f"*/{CONFIG}"))
    found = {path.parent.name: path.parent for path in tasks}
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


for command in (recordings.play, recordings.export, kept.receipt, kept.runs, kept.images, settings.config):
    commands.add_command(command)


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
