"""What is known of a case, and of the states that its runs left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from workbench.cases.case import Case
from workbench.events import Expected
from workbench.proof.keys import StageKeys
from workbench.trials.outcome import Outcome


@dataclass(frozen=True)
class Kept:
    """What an agent left at a step, kept by a whole run."""

    agent_key: str
    """Of all that it came from."""
    trial_dir: Path | None
    """The run's; None where it was not a run that led to it."""
    state: str = ""
    """Its key among the engine's states; empty where the verifier is separate and artifacts are enough."""


@dataclass
class KnownCase:
    """A case as the files are now."""

    case: Case
    keys: StageKeys
    ingredients: Mapping[str, str]
    """What the keys are made of."""
    outcomes: list[Outcome] = field(default_factory=list)
    """Of runs that speak of the files as they are, oldest first; cancelled ones left out."""
    stale: str = ""
    """Why nothing is known of the files as they are; empty when something is."""
    failed: bool = False
    """Whether the newest run that ended did not meet the expectation."""
    expected: dict[bool, tuple[Expected, ...]] = field(default_factory=dict)
    """How long the phases of whole trials (True) and re-verifications (False) are likely to take."""
    kept: dict[str, Kept] = field(default_factory=dict)
    """By step, what the newest whole run left; the step is empty in a task of one."""

    @property
    def runs_unasked(self) -> bool:
        """Whether a save may start it: an agent may cost money, unless what it left is all that is needed."""
        return self.case.kind != "agent" or self.reusable() is not None

    @property
    def reverified(self) -> Outcome | None:
        """The newest outcome where it is a re-verification that no whole trial has confirmed."""
        if self.outcomes and not self.outcomes[-1].whole:
            return self.outcomes[-1]
        return None

    def reusable(self) -> tuple[str, Kept] | None:
        """The last step whose agent need not run again, and what it left; None where all must run."""
        for step in reversed(self.keys.steps):
            kept = self.kept.get(step.step)
            if kept and kept.agent_key == step.agent:
                return step.step, kept
        return None
