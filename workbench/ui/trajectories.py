"""All that agents did in a trial, in one row: every step of the task, what it was continued by, subagents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from workbench.ui import atif, trial_files

_DEEPEST = 4
"""Subagents of subagents that are followed."""
_CONTINUED = 50
"""Files that one trajectory is followed through."""


@dataclass(frozen=True)
class Told:
    """A step of an agent's, and where it belongs."""

    step: atif.Step
    of: str = ""
    """The task's step; empty in a task without steps."""
    depth: int = 0
    """0 for the agent itself, 1 for a subagent of its, and so on."""
    by: str = ""
    """The subagent; empty for the agent itself."""
    notes: str = ""
    """What the trajectory says of itself, at its first step."""


@dataclass(frozen=True)
class Trajectories:
    """What a trial has of them."""

    steps: tuple[Told, ...]
    whole: tuple[atif.Trajectory, ...]
    """The trajectories of the agent itself, one for each step of the task."""
    subagents: int = 0

    def __bool__(self) -> bool:
        return bool(self.whole)


NONE = Trajectories((), ())


def files(trial: Path) -> list[tuple[str, Path]]:
    """The trajectory of each of the task's steps that left one."""
    found = [(name, root / "agent" / "trajectory.json") for name, root in trial_files.roots(trial)]
    return [(name, path) for name, path in found if trial_files.is_plain(path)]


def stamp(trial: Path) -> tuple[object, ...]:
    """Something that differs when the trajectories may have grown."""
    try:
        stats = [path.stat() for _, path in files(trial)]
    except OSError:
        return ()
    return tuple((stat.st_mtime_ns, stat.st_size) for stat in stats)


def read(trial: Path) -> Trajectories:
    """All of a trial's.

    Raises:
        TrajectoryError: one cannot be read.
    """
    whole: list[atif.Trajectory] = []
    steps: list[Told] = []
    for name, path in files(trial):
        whole.append(trajectory := atif.load(path))
        steps += _followed(trajectory, path, name)
    subagents = {(told.of, told.by) for told in steps if told.depth}
    return Trajectories(tuple(steps), tuple(whole), len(subagents))


def _followed(trajectory: atif.Trajectory, path: Path, of: str) -> Iterator[Told]:
    """A trajectory's steps, and those of the files that continue it."""
    seen = {path}
    while True:
        again = len(seen) > 1
        told = _steps(trajectory, path.parent, of)
        yield from (one for one in told if not (again and one.step.is_copied_context))
        following = _beside(path.parent, trajectory.continued_trajectory_ref)
        if following is None or following in seen or len(seen) > _CONTINUED:
            return
        seen.add(following)
        trajectory = atif.load(following)


def _steps(
    trajectory: atif.Trajectory, directory: Path, of: str, depth: int = 0, by: str = ""
) -> Iterator[Told]:
    known = {one.trajectory_id: one for one in trajectory.subagent_trajectories or () if one.trajectory_id}
    left = list(trajectory.subagent_trajectories or ())
    for number, step in enumerate(trajectory.steps):
        yield Told(step, of, depth, by, "" if number else trajectory.notes or "")
        for ref in atif.subagents(step) if depth < _DEEPEST else ():
            name = ref.trajectory_path or ref.trajectory_id or ""
            subagent = known.get(ref.trajectory_id or "")
            if subagent in left:
                left.remove(subagent)
            if subagent is None and (path := _beside(directory, ref.trajectory_path)):
                subagent = atif.load(path)
            if subagent:
                yield from _steps(subagent, directory, of, depth + 1, _name(subagent, name))
    for subagent in left if depth < _DEEPEST else ():
        yield from _steps(subagent, directory, of, depth + 1, _name(subagent, ""))


def _name(trajectory: atif.Trajectory, otherwise: str) -> str:
    return trajectory.trajectory_id or otherwise or trajectory.agent.name or "a subagent"


def _beside(directory: Path, name: str | None) -> Path | None:
    """A file that a trajectory names, where it is one beside it: what a machine wrote may name anything."""
    path = directory / Path(name).name if name else None
    return path if path and trial_files.is_plain(path) else None
