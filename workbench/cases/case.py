"""A case: something to replay, with an expectation."""

from __future__ import annotations

from typing import Literal

import msgspec

type CaseKind = Literal["oracle", "nop", "negative", "agent", "shell"]
"""`shell`: what a shell's machine held when its verifier was tried."""
type Expectation = Literal["pass", "fail"]
type Trace = Literal["none", "negatives", "all"]
"""Whose scripts' commands are told apart; `all`: the oracle's too."""


class AgentSpec(msgspec.Struct, frozen=True):
    """A real agent to try a task on."""

    agent: str
    """By Harbor's name, or as an import path, `module:Class`."""
    model: str = ""
    """As the agent names it; empty for its own choice."""

    @property
    def case(self) -> str:
        """The name of its case."""
        return f"{self.agent.rpartition(':')[2]} {self.model}".rstrip()


class Case(msgspec.Struct, frozen=True):
    """What to replay and what has to come of it."""

    name: str
    """Unique within the task: `oracle`, `nop`, or the negative's name."""
    kind: CaseKind
    expect: Expectation | None
    """`pass`: must pass. `fail`: must fail. None: only informs."""
    why: str = ""
    """The author's words for what is wrong with a negative."""
    fails: tuple[str, ...] = ()
    """Names of tests that must fail for a must-fail case to hold."""
    output: str = ""
    """A regular expression that the verifier's output must match."""
    script: str = ""
    """The script that it runs, relative to the task directory; empty for nop."""
    spec: AgentSpec | None = None
    """The agent, for a case of kind `agent`."""
