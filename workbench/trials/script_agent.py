"""An agent that runs a script of the author's, as Harbor's oracle runs `solution/solve.sh`.

Trials of negatives run the very task, by import path, so that the task's digest and the shape of the
trial directory are those of any other trial.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, override

from harbor.agents.base import BaseAgent
from harbor.agents.capabilities import AgentCapabilities
from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.models.agent.context import AgentContext
from harbor.models.task.file_filter import TaskFileFilter
from harbor.models.trial.paths import EnvironmentPaths
from harbor.utils.env import resolve_env_vars
from harbor.utils.file_selection import select_files
from harbor.utils.file_staging import selected_directory
from harbor.utils.scripts import build_execution_command

from workbench.trials.tracing import Traced, run_traced

IMPORT_PATH = "workbench.trials.script_agent:ScriptAgent"
LOG_FILE = "oracle.txt"
"""Harbor's viewer shows an agent's log under this name."""
EXIT_CODE_FILE = "exit-code.txt"


class ScriptAgent(BaseAgent):
    """Uploads a script, with the files beside it, to /solution and runs it.

    Args:
        task_dir: Host path of the task, whose `.harborignore` files count as they do for the oracle.
        scripts: Host paths, one for each step in order; single-step tasks have one. A script named
            `solve.sh` brings its directory along, but for `case.toml`, which says how it is judged; any
            other comes alone and is named `solve.sh` inside.
        env: The task's `[solution] env`; `${VAR}` is resolved on the host.
        label: What the trial calls the agent.
        trace: Tell the script's commands apart while it runs; the script behaves the same.

    Attributes:
        traced: What the trace of the newest script says; None where none was asked for.
    """

    # Trials refuse agents that lack what the task offers, though a script has no use for it.
    capabilities: ClassVar[AgentCapabilities] = AgentCapabilities(
        skills=True, mcp_servers=True, mcp_http_headers=True, load_atif_trajectory=True, resume=True
    )

    def __init__(
        self,
        task_dir: str,
        scripts: list[str],
        env: dict[str, str] | None = None,
        label: str = "script",
        trace: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._filter = TaskFileFilter(task_dir)
        self._scripts = [Path(script) for script in scripts]
        self._env = env or {}
        self._label = label
        self._trace = trace
        self.traced: Traced | None = None
        self._step = 0

    @staticmethod
    @override
    def name() -> str:
        return "workbench-script"

    @override
    def version(self) -> str:
        return self._label

    @override
    async def setup(self, environment: BaseEnvironment) -> None:
        """Nothing to install."""

    @override
    async def run(self, instruction: str, environment: BaseEnvironment, context: AgentContext) -> None:
        script, self.traced = self._scripts[self._step], None
        self._step += 1
        paths = EnvironmentPaths.for_os(environment.os)
        solution, log = paths.solution_dir / "solve.sh", paths.agent_dir / LOG_FILE
        if script.name == "solve.sh":
            judged_by = script.with_name("case.toml")
            selection = select_files(
                script.parent, exclude=lambda path: path == judged_by or self._filter.is_excluded(path)
            )
            with selected_directory(selection) as directory:
                await environment.upload_dir(directory, str(paths.solution_dir))
        else:
            await environment.exec(f"mkdir -p {paths.solution_dir}", user="root")
            await environment.upload_file(script, str(solution))
        await environment.exec(f"chmod +x {solution}", user="root")
        with environment.scoped_exec_env(resolve_env_vars(self._env) if self._env else {}):
            result = await self._execute(environment, script, str(solution), str(log))
        if not environment.is_path_mounted(log, self.logs_dir / LOG_FILE):
            await environment.download_file(str(log), self.logs_dir / LOG_FILE)
        if result.return_code != 0:
            (self.logs_dir / EXIT_CODE_FILE).write_text(str(result.return_code))

    async def _execute(self, environment: BaseEnvironment, script: Path, path: str, log: str) -> ExecResult:
        env = {"DEBIAN_FRONTEND": "noninteractive"}
        if not self._trace:
            command = build_execution_command(path, stdout_path=log, task_os=environment.os)
            return await environment.exec(command, env=env)
        return await run_traced(environment, script.read_bytes(), path, log, env, self._take)

    def _take(self, traced: Traced) -> None:
        self.traced = traced

    # Harbor calls these in place of run() where a task ships a trajectory or its steps resume.

    @override
    async def load(self, instruction: str, environment: BaseEnvironment, context: AgentContext) -> None:
        await self.run(instruction, environment, context)

    @override
    async def resume(self, instruction: str, environment: BaseEnvironment, context: AgentContext) -> None:
        await self.run(instruction, environment, context)
