"""Receipts and runs to put into tests' databases."""

from __future__ import annotations

from typing import Literal

import msgspec

from workbench.proof.documents import Inputs
from workbench.proof.receipts import Receipt
from workbench.trials.outcome import Outcome, Phase, PhaseName, Test

NOON = 1_760_000_000.0

INPUTS = Inputs(
    agent_key="agent-1",
    verdict_key="verdict-1",
    harbor="0.26.0",
    provider="bubblewrap",
    provider_version="0.11.0",
    workbench="0.1.0",
    platform="linux/x86_64",
)


def receipt(case: str = "oracle", inputs: Inputs = INPUTS, **more: object) -> Receipt:
    """A receipt of a case that passed as it must, but for what is given."""
    made = Receipt(
        task="/tasks/slugify",
        task_digest="digest-1",
        case=case,
        expect="pass",
        inputs=inputs,
        image="python:3.12-slim",
        machine="bench",
        at=NOON,
        outcome=graded(1),
        trial_dir="/trials/gone",
    )
    return msgspec.structs.replace(made, **more)


def graded(reward: float, met: bool = True, **more: object) -> Outcome:
    """An outcome with two tests, but for what is given."""
    passed: Literal["passed", "failed"] = "passed" if reward >= 1 else "failed"
    made = Outcome(
        kind=passed,
        reason=f"reward {reward:g}",
        reward=reward,
        rewards={"reward": reward},
        met=met,
        tests=(Test("test_words", "passed", seconds=0.01), Test("test_title", passed, "as it should")),
        phases=phases({"environment": 0.5, "agent": 0.2, "verifier": 0.3}),
    )
    return msgspec.structs.replace(made, **more)


def phases(seconds: dict[PhaseName, float]) -> tuple[Phase, ...]:
    """Phases that take these seconds, one after another."""
    made, at = [], NOON
    for name, took in seconds.items():
        made.append(Phase(name, at, at + took))
        at += took
    return tuple(made)
