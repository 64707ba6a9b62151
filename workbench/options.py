"""Options that several commands share, and the engine that they ask for."""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from typing import Any, override

import click

PROVIDERS = ("smol", "smol:cloud", "bubblewrap")
BUILDERS = ("docker", "podman", "buildah", "container", "smol")

type Command = Callable[..., None]


def _provider(ctx: click.Context, param: click.Parameter, value: str) -> str:
    if value in ("", *PROVIDERS) or (value.startswith("harbor:") and value != "harbor:"):
        return value
    near = get_close_matches(value, [*PROVIDERS, f"harbor:{value}"], 1, 0.5)
    hint = f"; did you mean {near[0]}?" if near else ""
    raise click.BadParameter(f"{value!r} is not smol, bubblewrap or harbor:TYPE{hint}")


class FiniteRange(click.FloatRange):
    """Numbers in a range; `nan` and `inf`, which a range may let through, are refused."""

    @override
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{number} is not a finite number", param, ctx)
        return number


_provider_option = click.option(
    "--provider",
    default="",
    metavar="NAME",
    callback=_provider,
    help="Who makes machines: smol, bubblewrap or harbor:TYPE; by default the best that works here.",
)
_threshold = click.option(
    "--threshold",
    type=FiniteRange(),
    metavar="REWARD",
    help="The reward from which a run passes; by default 1.0.",
)
_RUNNING = (
    click.option(
        "-n",
        "concurrency",
        type=click.IntRange(1),
        metavar="N",
        help="Runs side by side; by default as many as there are cores.",
    ),
    click.option(
        "--builder",
        type=click.Choice(BUILDERS),
        default=None,
        help="What builds Dockerfiles; by default the first of these that works.",
    ),
    click.option(
        "--trace",
        type=click.Choice(("none", "negatives", "all")),
        default=None,
        help="Whose scripts leave a trajectory: the negatives' (the default), all, or none.",
    ),
)
_WATCHING = (
    click.option(
        "--confirm",
        type=click.Choice(("idle", "always", "never")),
        default=None,
        help="When whole trials confirm what was only re-verified: once saves have settled (the default), "
        "at once, or never.",
    ),
    click.option(
        "--on-change",
        type=click.Choice(("kill", "wait")),
        default=None,
        help="What a save does to runs that it makes stale: end them (the default), or let them end.",
    ),
    click.option(
        "--grace",
        type=FiniteRange(0),
        metavar="SECONDS",
        help="How long such a run may still go on before it is killed; by default 0.",
    ),
    click.option(
        "--keep-states",
        type=click.IntRange(0),
        metavar="COUNT",
        help="How many of the states are kept that agents left; by default 64.",
    ),
    click.option(
        "--keep-memory",
        type=click.IntRange(0),
        metavar="MIB",
        help="How much of the host's memory they may take together; by default 4096.",
    ),
)

_SET = ("builder", "builder_image", "keep_states", "keep_memory")
"""What settings say of an engine, unless an option does."""


def _engine(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Gives a command options, and hands what they say over as one argument, `engine`."""

    def decorate(command: Command) -> Command:
        def run(**given: Any) -> None:
            from workbench import settings
            from workbench.link import EngineOptions

            names = [name for name in given if name in EngineOptions.__struct_fields__]
            said = {name: value for name in names if (value := given.pop(name)) is not None}
            chosen = settings.load(given.get("task_dir"), given.get("config")).settings
            default = settings.Settings()
            chose = {name: getattr(chosen, name) for name in _SET}
            said = {name: value for name, value in chose.items() if value != getattr(default, name)} | said
            command(engine=EngineOptions(**said), **given)

        wrapped: Command = functools.update_wrapper(run, command)
        # Help is read from the top down, decorators work from the bottom up.
        for option in reversed(options):
            wrapped = option(wrapped)
        return wrapped

    return decorate


_AGENTS = (
    click.option(
        "--agent",
        metavar="NAME",
        multiple=True,
        help="Try the task on an agent too, by Harbor's name or an import path; may be repeated.",
    ),
    click.option(
        "--model",
        metavar="NAME",
        multiple=True,
        help="The agents' model: one for all, or one for each in order.",
    ),
)


def agents(command: Command) -> Command:
    """Gives a command options for agents, and hands what they say over as one argument, `agents`."""

    def run(*, agent: tuple[str, ...], model: tuple[str, ...], **given: Any) -> None:
        from workbench.cases.case import AgentSpec

        if len(model) not in (0, 1, len(agent)) or (model and not agent):
            raise click.UsageError(
                f"{len(model)} models for {len(agent)} agents: give one for all, or one for each"
            )
        models = model * len(agent) if len(model) == 1 else model or ("",) * len(agent)
        command(agents=tuple(map(AgentSpec, agent, models)), **given)

    wrapped: Command = functools.update_wrapper(run, command)
    for option in reversed(_AGENTS):
        wrapped = option(wrapped)
    return wrapped


record = click.option(
    "--record",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write the event stream to a file too, for `workbench play`.",
)
reading_engine = _engine(_provider_option, _threshold)
"""For a command that runs nothing."""
running_engine = _engine(_provider_option, _threshold, *_RUNNING)
"""For a command that runs cases once."""
watching_engine = _engine(_provider_option, _threshold, *_RUNNING, *_WATCHING)
"""For a command that runs cases on every save."""


def need_a_terminal(otherwise: str) -> None:
    """Refuse to go on without one.

    Args:
        otherwise: What to do then.

    Raises:
        click.UsageError: there is none.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise click.UsageError(f"the screen needs a terminal; without one, {otherwise}")
