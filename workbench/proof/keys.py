"""Keys of a case's stages: equal keys mean that a run of before still speaks of the files of now."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

import msgspec

from workbench.cases.case import Case
from workbench.task.ingredients import NOP, case_ingredients
from workbench.task.snapshot import Snapshot


class StepKeys(msgspec.Struct, frozen=True):
    """Keys of one step; in each is the key of all that went before it."""

    step: str
    """Empty in a task without steps."""
    agent: str
    verdict: str


class StageKeys(msgspec.Struct, frozen=True):
    """Keys of a case, for each step in order."""

    steps: tuple[StepKeys, ...]

    @property
    def agent(self) -> str:
        """Of what the agent leaves behind, in the last step."""
        return self.steps[-1].agent

    @property
    def verdict(self) -> str:
        """Of the outcome as a whole."""
        return self.steps[-1].verdict


def made_as(case: Case) -> str:
    """The case of the task's own whose ingredients are a case's; an agent brings no files, like nop."""
    return NOP if case.kind == "agent" else case.name


def stage_keys(
    snapshot: Snapshot, case: Case, image_key: str, verifier_image_keys: Mapping[str, str] | None = None
) -> StageKeys:
    """The keys of a case's stages at the time of the snapshot.

    Args:
        image_key: Of the agent's image: what it is made of, by which builder, for which platform.
        verifier_image_keys: Of the image of a step's separate verifier, by the step's name ("" in a task
            without steps), where it has one of its own.

    Raises:
        KeyError: the snapshot does not have the case, or its task.toml cannot be read.
    """
    before = image_key
    keys = []
    who = (case.spec.agent, case.spec.model) if case.spec else ()
    for step in case_ingredients(snapshot)[made_as(case)]:
        agent = _hash(before, step.agent, *who)
        image = (verifier_image_keys or {}).get(step.step, "")
        verdict = _hash(agent, image, step.verdict, case.expect, case.fails, case.output)
        keys.append(StepKeys(step.step, agent, verdict))
        before = verdict  # a later step starts from what the tests of this one left
    return StageKeys(tuple(keys))


def _hash(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
