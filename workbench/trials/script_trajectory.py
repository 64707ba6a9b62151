"""A script's run as a trajectory: ATIF, as agents leave it, and marked as a script's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harbor.models.trajectories import (
    Agent,
    Observation,
    ObservationResult,
    Step,
    ToolCall,
    Trajectory,
)

from workbench.trials import trace_steps
from workbench.trials.tracing import COMMANDS_LIMIT, Traced

FILE = "trajectory.json"
_OUTPUT_LIMIT = 64 << 10
"""Bytes kept of what one step printed: the start and the end."""
_TOTAL_LIMIT = 16 << 20
"""Bytes kept of what all steps printed."""
_NOTES = (
    "The commands of a script; no model took part. A command's output is what was printed until the next one "
    "began, its exit code what bash then had for it. What runs in a subshell, in a pipe or in the background "
    "is shown with the command before it, and an exit code that may be another's is left out."
)


def write_trajectory(traced: Traced, agent: Agent, output: Path) -> None:
    """Write a trajectory beside the script's output.

    Args:
        agent: Who it is said to be of.
        output: What the script printed; it may be missing.

    Raises:
        OSError: it cannot be written.
    """
    printed = output.read_bytes() if output.is_file() and not output.is_symlink() else b""
    trajectory = script_trajectory(traced, agent, printed)
    path = output.with_name(FILE)
    path.write_text(json.dumps(trajectory.to_json_dict(), ensure_ascii=False, indent=1), encoding="utf-8")


def script_trajectory(traced: Traced, agent: Agent, printed: bytes) -> Trajectory:
    """The trajectory of a traced run.

    Args:
        printed: The script's output.
    """
    found = trace_steps.steps(traced, len(printed))
    notes = _NOTES
    if not found:
        why = traced.why_not or "bash 5 did not run it, or it left no trace"
        notes = f"A script as a whole; no model took part. Its commands are not told apart: {why}."
    elif len(traced.records) >= COMMANDS_LIMIT:
        notes += f" After {COMMANDS_LIMIT} commands the rest is not told apart."
    return Trajectory(
        schema_version="ATIF-v1.8",
        agent=agent,
        steps=list(_steps(found, traced, printed) if found else _whole(traced, printed)),
        notes=notes,
    )


def _steps(found: list[trace_steps.Step], traced: Traced, printed: bytes) -> Iterator[Step]:
    # The environment's clock may be another than the host's.
    ahead = traced.ended_at - traced.inside_ended_at if traced.inside_ended_at else 0.0
    script, left = found[0].file, _TOTAL_LIMIT
    for number, step in enumerate(found, start=1):
        limit = min(_OUTPUT_LIMIT, left)
        content = _cut(printed[step.output], limit) if step.output else None
        left -= min(limit, len(content or ""))
        where = f"line {step.line}" if step.file == script else f"{step.file}:{step.line}"
        yield _step(
            number,
            {"command": step.text},
            content,
            step.exit_code,
            step.seconds,
            step.started_at and step.started_at + ahead,
            message=where if step.depth == 1 else f"{where}, {step.depth - 1} deep in functions",
            statuses=step.statuses,
        )


def _whole(traced: Traced, printed: bytes) -> Iterator[Step]:
    first = traced.script.partition("\n")[0]
    arguments = {"command": first if first.startswith("#!") else "a script without an interpreter line"}
    took = traced.ended_at - traced.started_at
    yield _step(
        1,
        arguments,
        _cut(printed, _OUTPUT_LIMIT),
        traced.exit_code,
        took,
        traced.started_at,
        message="the whole script",
    )


def _step(
    number: int,
    arguments: dict[str, str],
    content: str | None,
    exit_code: int | None,
    took: float | None,
    at: float | None,
    *,
    message: str,
    statuses: tuple[int, ...] = (),
) -> Step:
    extra: dict[str, Any] = {
        "exit_code": exit_code,
        "pipe": list(statuses) or None,
        "seconds": None if took is None else round(took, 6),
    }
    call = f"command-{number}"
    return Step(
        step_id=number,
        timestamp=datetime.fromtimestamp(at, UTC).isoformat() if at else None,
        source="agent",
        message=message,
        llm_call_count=0,
        tool_calls=[ToolCall(tool_call_id=call, function_name="run", arguments=dict(arguments))],
        observation=Observation(
            results=[
                ObservationResult(
                    source_call_id=call,
                    content=content,
                    extra={key: value for key, value in extra.items() if value is not None} or None,
                )
            ]
        ),
    )


def _cut(printed: bytes, limit: int) -> str:
    if len(printed) <= limit:
        return printed.decode("utf-8", "replace")
    head, tail = printed[: limit // 2], printed[len(printed) - limit // 2 :]
    left = len(printed) - len(head) - len(tail)
    return f"{head.decode('utf-8', 'replace')}\n... {left:,} bytes ...\n{tail.decode('utf-8', 'replace')}"
