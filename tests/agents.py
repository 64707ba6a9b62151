"""Agents for tests to run by import path."""

from __future__ import annotations

from typing import override

from harbor.agents.base import BaseAgent
from harbor.environments.base import BaseEnvironment
from harbor.models.agent.context import AgentContext


class Toucher(BaseAgent):
    """Does what the plain task of `tests.check.tasks` asks for, or what it is told to.

    Args:
        path: What to touch.
    """

    def __init__(self, path: str = "/tmp/answer", **kwargs: object) -> None:
        super().__init__(**kwargs)  # type: ignore[arg-type]
        self._path = path

    @staticmethod
    @override
    def name() -> str:
        return "toucher"

    @override
    def version(self) -> str:
        return "1"

    @override
    async def setup(self, environment: BaseEnvironment) -> None:
        """Nothing to install."""

    @override
    async def run(self, instruction: str, environment: BaseEnvironment, context: AgentContext) -> None:
        await environment.exec(f"touch {self._path}")
