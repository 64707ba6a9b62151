"""What two runs are compared by, as lines."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from workbench.session import Run
from workbench.ui import atif, trajectories, trial_files
from workbench.ui.change_rows import find_changes, row_lines
from workbench.ui.figures import memory
from workbench.ui.lines import breaks, shorten

type Matter = Literal["verifier", "agent", "trajectory", "files"]

_LARGEST = 16 * 1024 * 1024
"""Bytes of output compared; of more, the end."""
_RESULT_LINES = 50
"""Lines compared of what one call of a tool gave."""


def lines(run: Run, matter: Matter) -> list[str]:
    """What a run has to show of a matter."""
    match matter:
        case "verifier" | "agent":
            return _split(trial_files.printed(run, matter, _LARGEST))
        case "trajectory":
            return _trajectory(run)
        case "files":
            return _files(run)


def stamp(run: Run, matter: Matter) -> tuple[object, ...]:
    """Something that differs when the lines may be others."""
    if matter == "trajectory" and run.trial_dir:
        return (run.id, run.state, trajectories.stamp(Path(run.trial_dir)))
    return (run.id, run.state, run.output_seen if matter in ("verifier", "agent") else 0)


def _split(text: str) -> list[str]:
    found = shorten(breaks(text)).split("\n")
    return found[:-1] if found[-1] == "" else found


def _trajectory(run: Run) -> list[str]:
    """Each step, and what came of it below, so that equal commands with other results differ."""
    try:
        told = trajectories.read(Path(run.trial_dir)).steps if run.trial_dir else ()
    except atif.TrajectoryError as error:
        return [str(error)]
    found: list[str] = []
    for one in told:
        who = " ".join(part for part in (one.of, one.by or one.step.source) if part)
        found.append(f"{who}: {atif.headline(one.step)}")
        if one.step.tool_calls and not one.step.scripted:
            # Beside calls, the headline has no words; a script's are the numbers of its lines.
            found += [f"    {line}" for line in _split(atif.text(one.step.message))[:_RESULT_LINES]]
        for _, results in atif.paired(one.step):
            for result in results:
                found += [f"    {line}" for line in _split(atif.text(result.content))[:_RESULT_LINES]]
                if code := (result.extra or {}).get("exit_code"):
                    found.append(f"    exit code {code}")
    return found


def _files(run: Run) -> list[str]:
    if not run.trial_dir:
        return []
    trial = Path(run.trial_dir)
    kept = [
        f"{f'{artifact.step}: ' if artifact.step else ''}artifact {artifact.source}"
        f"  {'missing' if artifact.status == 'failed' else artifact.status}"
        for artifact in trial_files.artifacts(trial)
    ]
    changed = [line for row in find_changes(trial).rows for line in row_lines(row)]
    files = [f"{file.path}  {memory(file.size)}" for file in trial_files.files(trial)]
    return changed + kept + files
