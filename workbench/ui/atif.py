"""An agent's trajectory, as Harbor keeps it: ATIF, any version.

Read leniently, with no model of Harbor's: what is unknown is left out, what is missing is empty.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec

LARGEST = 256 * 1024 * 1024
"""Bytes; a larger trajectory is not read."""

type Who = Literal["system", "user", "agent"]


class TrajectoryError(Exception):
    """A trajectory that cannot be read; the message says why."""


class _Lenient(msgspec.Struct):
    pass


class Media(_Lenient):
    """Where an image or a sound is."""

    media_type: str = ""
    path: str = ""


class Part(_Lenient):
    """A piece of a message."""

    type: str = "text"
    text: str | None = None
    source: Media | None = None


class ToolCall(_Lenient):
    """Something the agent did."""

    tool_call_id: str = ""
    function_name: str = ""
    arguments: Any = None


class SubagentRef(_Lenient):
    """Where a subagent's own trajectory is."""

    trajectory_id: str | None = None
    session_id: str | None = None
    trajectory_path: str | None = None


class Result(_Lenient):
    """What came of a tool call."""

    source_call_id: str | None = None
    content: str | list[Part] | None = None
    subagent_trajectory_ref: list[SubagentRef] | None = None
    extra: dict[str, Any] | None = None


class Observation(_Lenient):
    """What the agent saw after a step."""

    results: list[Result] = []


class Metrics(_Lenient):
    """Tokens and cost of one step."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    cost_usd: float | None = None


class Step(_Lenient):
    """One step."""

    step_id: int = 0
    timestamp: str | None = None
    source: str = "agent"
    model_name: str | None = None
    message: str | list[Part] | None = None
    reasoning_content: str | None = None
    tool_calls: list[ToolCall] | None = None
    observation: Observation | None = None
    metrics: Metrics | None = None
    llm_call_count: int | None = None
    is_copied_context: bool | None = None
    """It repeats a step of the trajectory that this one goes on from."""
    extra: dict[str, Any] | None = None

    @property
    def scripted(self) -> bool:
        """Whether a script made it rather than a model."""
        return self.source == "agent" and self.llm_call_count == 0


class FinalMetrics(_Lenient):
    """Tokens and cost of the whole."""

    total_prompt_tokens: int | None = None
    total_completion_tokens: int | None = None
    total_cached_tokens: int | None = None
    total_cost_usd: float | None = None


class Agent(_Lenient):
    """Who acted."""

    name: str = ""
    version: str = ""
    model_name: str | None = None


class Trajectory(_Lenient):
    """A whole trajectory."""

    schema_version: str = ""
    trajectory_id: str | None = None
    agent: Agent = msgspec.field(default_factory=Agent)
    steps: list[Step] = []
    notes: str | None = None
    final_metrics: FinalMetrics | None = None
    subagent_trajectories: list[Trajectory] | None = None
    continued_trajectory_ref: str | None = None
    """The file that it goes on in."""


_decoder = msgspec.json.Decoder(Trajectory, strict=False)


def load(path: Path) -> Trajectory:
    """The trajectory in a file.

    Raises:
        TrajectoryError: it is too large, not there, or no trajectory.
    """
    try:
        if (size := path.stat().st_size) > LARGEST:
            raise TrajectoryError(f"{path.name} has {size // 2**20} MiB; at most {LARGEST // 2**20} are read")
        return _decoder.decode(path.read_bytes())
    except OSError as error:
        raise TrajectoryError(f"{path.name}: {error.strerror}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise TrajectoryError(f"{path.name} is no ATIF trajectory: {error}") from error
    except RecursionError as error:
        raise TrajectoryError(f"{path.name} is no ATIF trajectory: it is nested too deeply") from error


def text(content: str | list[Part] | None) -> str:
    """Content as text; images and sounds are named, not shown."""
    if content is None or isinstance(content, str):
        return content or ""
    return "\n".join(_part(part) for part in content)


def paired(step: Step) -> Iterator[tuple[ToolCall | None, list[Result]]]:
    """The tool calls of a step, each with its results, then the results that belong to none."""
    results = step.observation.results if step.observation else []
    calls = step.tool_calls or []
    if len(calls) == 1 and not any(result.source_call_id for result in results):
        # Early writers left out which call a result belongs to.
        yield calls[0], results
        return
    known = {call.tool_call_id for call in calls}
    for call in calls:
        yield call, [result for result in results if result.source_call_id == call.tool_call_id]
    if rest := [result for result in results if result.source_call_id not in known]:
        yield None, rest


def subagents(step: Step) -> Iterator[SubagentRef]:
    """What a step handed on to subagents."""
    for result in step.observation.results if step.observation else ():
        yield from result.subagent_trajectory_ref or ()


def headline(step: Step) -> str:
    """A step in one line: what it did, else what it said."""
    if step.tool_calls:
        return "; ".join(call_line(call) for call in step.tool_calls)
    return " ".join((text(step.message) or step.reasoning_content or "").split())


def call_line(call: ToolCall) -> str:
    """A tool call in one line."""
    arguments = call.arguments
    if isinstance(arguments, dict) and len(arguments) == 1:
        (only,) = arguments.values()
        arguments = only if isinstance(only, str) else arguments
    told = argument_text(arguments)
    return (
        f"{call.function_name} {' '.join(told.split())}" if told not in ("null", "{}") else call.function_name
    )


def argument_text(value: object) -> str:
    """A text as it is, and anything else as JSON."""
    try:
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return "(nested too deeply)"


def _part(part: Part) -> str:
    if part.source is not None:
        return f"[{part.type}: {part.source.path or 'inline'}, {part.source.media_type or 'unknown type'}]"
    return part.text or ""
