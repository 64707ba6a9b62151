"""Who is told what a trial does, while it does it.

Harbor builds agents, verifiers and environments itself, from import paths and plain values. What of
ours it builds finds the run it belongs to in a context variable, which asyncio hands down to every
task that the trial starts.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Literal, Protocol

from workbench.trials.outcome import PhaseName

type Source = Literal["environment", "agent", "verifier"]


class Observer(Protocol):
    """Hears of a run's phases and output as they happen."""

    def phase(self, name: PhaseName, step: str) -> None:
        """The run entered a phase; `step` is empty in single-step tasks."""

    def output(self, source: Source, text: str, step: str) -> None:
        """The run printed something."""

    def note(self, text: str) -> None:
        """Something worth knowing that does not change the outcome."""


class Silent:
    """Hears and says nothing: for trials that nobody watches, such as those of `harbor run`."""

    def phase(self, name: PhaseName, step: str) -> None: ...

    def output(self, source: Source, text: str, step: str) -> None: ...

    def note(self, text: str) -> None: ...


observing: ContextVar[Observer] = ContextVar("observing", default=Silent())  # noqa: B039
"""The observer of the trial that this task belongs to."""
