"""From Harbor's trial result to an outcome.

What is read here does not know what was expected; `workbench.cases.judge` does.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from harbor.models.trial.paths import TrialPaths
from harbor.models.trial.result import ExceptionInfo, StepResult, TimingInfo, TrialResult
from msgspec import structs

from workbench.trials.outcome import Outcome, OutcomeKind, Phase, PhaseName, StepOutcome
from workbench.trials.plain_words import NOT_STARTED, exception_name, in_plain_words
from workbench.trials.reports import read_tests
from workbench.trials.script_agent import EXIT_CODE_FILE, LOG_FILE

LAST_LINES = 12
"""Lines of a script's output that go with an outcome."""
_TAIL_BYTES = 256 * 1024
_COLORS = re.compile(r"\x1b\[[0-9;:]*m|\x1b\[0?K")
"""Colours, and the erasing that ends coloured lines."""

_TIMEOUTS = {
    "AgentTimeoutError": "agent",
    "VerifierTimeoutError": "verifier",
    "EnvironmentStartTimeoutError": "environment",
}


class Printed:
    """What the scripts of a trial printed, from its directory: the ends, which hold what matters."""

    def __init__(self, trial_dir: Path) -> None:
        self._paths = TrialPaths(trial_dir)

    def agent(self, step: str = "") -> str:
        """The end of solve.sh's output."""
        directory = self._paths.step_agent_dir(step) if step else self._paths.agent_dir
        return tail(directory / LOG_FILE)

    def verifier(self, step: str = "") -> str:
        """The end of test.sh's output."""
        return tail(self.verifier_dir(step) / self._paths.test_stdout_path.name)

    def verifier_dir(self, step: str = "") -> Path:
        """Where a step's verifier left its files."""
        return self._paths.step_verifier_dir(step) if step else self._paths.verifier_dir

    def exit_code(self, step: str = "") -> int | None:
        """Exit code of the case's script, None when it was 0."""
        directory = self._paths.step_agent_dir(step) if step else self._paths.agent_dir
        try:
            return int((directory / EXIT_CODE_FILE).read_text())
        except (OSError, ValueError):
            return None


def tail(path: Path) -> str:
    """The last 256 KiB of a text file, as it reads: without colours and with lines that end in LF.

    Empty when it cannot be read.
    """
    try:
        if path.is_symlink():
            return ""
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _TAIL_BYTES))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return ""
    return _COLORS.sub("", text).replace("\r\n", "\n")


def last_lines(text: str) -> tuple[str, ...]:
    """The last few lines that say something."""
    return tuple(line for line in text.splitlines() if line.strip())[-LAST_LINES:]


def deciding_reward(rewards: dict[str, float]) -> float | None:
    """The reward that a threshold is held against: the key `reward`, else the lowest of all."""
    return rewards.get("reward", min(rewards.values())) if rewards else None


def read_outcome(
    result: TrialResult, trial_dir: Path, threshold: float, notes: tuple[str, ...], *, whole: bool
) -> Outcome:
    """What a finished trial came to.

    Args:
        result: Harbor's own.
        trial_dir: The trial directory, complete.
        threshold: The least reward that passes.
        notes: Carried into the outcome.
        whole: False for a re-verification of a kept state.
    """
    printed = Printed(trial_dir)
    steps = tuple(_step(step, printed) for step in result.step_results or ())
    raised, at_step = _first_exception(result)
    rewards = _rewards(result.verifier_result)
    reward = deciding_reward(rewards)
    name = exception_name(raised.exception_type, raised.exception_message) if raised else ""
    began = result.agent_setup is not None
    kind, reason, detail = _decide(raised, reward, threshold, printed, at_step, began=began)
    return Outcome(
        kind=kind,
        reason=reason,
        detail=detail,
        reward=reward,
        rewards=rewards,
        exception=name,
        timed_out=_TIMEOUTS.get(name, ""),  # type: ignore[arg-type]
        agent_exit_code=_exit_code(printed, steps),
        tests=tuple(
            structs.replace(test, step=step)
            for step in ([s.name for s in steps] or [""])
            for test in read_tests(printed.verifier_dir(step), printed.verifier(step))
        ),
        steps=steps,
        phases=read_phases(result),
        whole=whole,
        notes=notes + _missing_results(steps),
    )


def _decide(
    raised: ExceptionInfo | None,
    reward: float | None,
    threshold: float,
    printed: Printed,
    step: str,
    *,
    began: bool,
) -> tuple[OutcomeKind, str, tuple[str, ...]]:
    where = f"step {step}: " if step else ""
    if raised is None:
        if reward is None:
            return "error", "the reward file names no reward", last_lines(printed.verifier(step))
        return graded(reward, threshold)
    name = exception_name(raised.exception_type, raised.exception_message)
    agent_side = name in ("AgentTimeoutError", "AgentSetupTimeoutError")
    output = printed.agent(step) if agent_side else printed.verifier(step)
    words = NOT_STARTED if name == "MachineError" and not began else name
    what, hint = in_plain_words(words, raised.exception_message, output)
    detail = last_lines(output) + ((hint,) if hint else ())
    if name == "CancelledError":
        return "cancelled", "cancelled", ()
    if name == "MachineDiedError":
        return "killed", where + what, detail
    if reward is not None and raised.policy.has_valid_reward:
        kind, *_ = graded(reward, threshold)
        return kind, f"{where}{what}, and was graded {reward:g}", detail
    if name in _TIMEOUTS:
        return "timeout", where + what, detail
    return "error", where + what, detail


def graded(reward: float, threshold: float) -> tuple[OutcomeKind, str, tuple[str, ...]]:
    """What a reward comes to when nothing was raised."""
    if reward >= threshold:
        return "passed", f"reward {reward:g}", ()
    return "failed", f"reward {reward:g}, below {threshold:g}", ()


def _first_exception(result: TrialResult) -> tuple[ExceptionInfo | None, str]:
    if result.exception_info is not None:
        return result.exception_info, ""
    for step in result.step_results or ():
        if step.exception_info is not None:
            return step.exception_info, step.step_name
    return None, ""


def _rewards(verified: object) -> dict[str, float]:
    """Those that are numbers. Harbor takes integers of any size; the nearest that can be told is told."""
    rewards = getattr(verified, "rewards", None) or {}
    most = sys.float_info.max
    finite = {key: max(-most, min(value, most)) for key, value in rewards.items() if value == value}
    return {key: float(value) for key, value in finite.items()}


def _step(step: StepResult, printed: Printed) -> StepOutcome:
    rewards = _rewards(step.verifier_result)
    raised = step.exception_info
    reason = ""
    if raised is not None:
        reason, _ = in_plain_words(
            raised.exception_type, raised.exception_message, printed.verifier(step.step_name)
        )
    return StepOutcome(
        name=step.step_name,
        reward=deciding_reward(rewards),
        rewards=rewards,
        exception=raised.exception_type if raised else "",
        reason=reason,
    )


def _missing_results(steps: tuple[StepOutcome, ...]) -> tuple[str, ...]:
    return tuple(
        f"step {step.name} has no result, and Harbor leaves it out of the mean"
        for step in steps
        if step.reward is None
    )


def _exit_code(printed: Printed, steps: tuple[StepOutcome, ...]) -> int | None:
    codes = (printed.exit_code(step) for step in ([s.name for s in steps] or [""]))
    return next((code for code in codes if code is not None), None)


def read_phases(result: TrialResult) -> tuple[Phase, ...]:
    """The run's phases in order, the untimed gaps between Harbor's own named too."""
    return tuple(_phases(result))


def _phases(result: TrialResult) -> Iterator[Phase]:
    yield from _timed("environment", result.environment_setup)
    yield from _timed("agent setup", result.agent_setup)
    last: datetime | None = result.agent_setup.finished_at if result.agent_setup else None
    parts: list[StepResult] | list[TrialResult] = result.step_results or [result]
    for part in parts:
        step = getattr(part, "step_name", "")
        yield from _timed("agent", part.agent_execution, step)
        if part.agent_execution and part.agent_execution.finished_at and part.verifier:
            yield from _gap("transfer", part.agent_execution.finished_at, part.verifier.started_at, step)
        yield from _timed("verifier", part.verifier, step)
        for timing in (part.agent_execution, part.verifier):
            if timing and timing.finished_at:
                last = timing.finished_at
    yield from _gap("teardown", last, result.finished_at, "")


def _timed(name: PhaseName, timing: TimingInfo | None, step: str = "") -> Iterator[Phase]:
    if timing and timing.started_at and timing.finished_at:
        yield Phase(name, timing.started_at.timestamp(), timing.finished_at.timestamp(), step)


def _gap(name: PhaseName, start: datetime | None, end: datetime | None, step: str) -> Iterator[Phase]:
    if start and end and end > start:
        yield Phase(name, start.timestamp(), end.timestamp(), step)
