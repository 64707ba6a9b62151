"""What two runs are compared by, as lines."""

from __future__ import annotations

from collections.abc import Sequence
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
_MOST_LINES = 1000
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


def gone(run: Run, matter: Matter, known: Sequence[str]) -> str:
    """What stands in place of lines where none is known because all that a run left is gone; else empty."""
    if known:
        return ""
    if matter in ("verifier", "agent") and (run.did_without(matter) or trial_files.is_complete(run)):
        return ""
    return trial_files.gone(run)


def uncompared(left: str, right: str) -> str:
    """Why two runs are not compared, from what stands in place of their lines; empty where they are."""
    if left and right:
        return "not compared: neither run's is here"
    return f"not compared: the {'left' if left else 'right'} run's is not here" if left or right else ""


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
        who, step = " ".join(part for part in (one.of, one.by or one.step.source) if part), one.step
        said = _split(atif.text(step.message) or step.reasoning_content or "")
        if not step.tool_calls:
            found.append(f"{who}: {said[0] if said else ''}")
            said = said[1:]
        for call in step.tool_calls or ():
            first, *rest = _called(call)
            found += [f"{who}: {first}", *(f"  > {line}" for line in rest)]
        if not (step.tool_calls and step.scripted):
            # A script's are the numbers of its lines.
            found += _within(said)
        for _, results in atif.paired(step):
            for result in results:
                found += _within(_split(atif.text(result.content)))
                if code := (result.extra or {}).get("exit_code"):
                    found.append(f"    exit code {code}")
    return found


def _called(call: atif.ToolCall) -> list[str]:
    """A call of a tool, of which a script or a file that it writes is many lines."""
    told = call.arguments
    if isinstance(told, dict):
        parts = [(key, atif.argument_text(value)) for key, value in told.items()]
        told = parts[0][1] if len(parts) == 1 else "\n".join(f"{key}: {text}" for key, text in parts)
    first, *rest = _split("" if told is None else atif.argument_text(told)) or [""]
    return [f"{call.function_name} {first}".rstrip(), *rest]


def _within(lines: list[str]) -> list[str]:
    """Lines that belong to the step above them."""
    more = len(lines) - _MOST_LINES
    shown = [f"    {line}" for line in lines[:_MOST_LINES]]
    return [*shown, f"    ... {more:,} lines more"] if more > 0 else shown


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
