"""Harbor's verifier, watched while it runs."""

from __future__ import annotations

from typing import Any, override

from harbor.models.task.verifier_mode import resolve_verifier_environment_definition
from harbor.models.trial.paths import EnvironmentPaths
from harbor.models.verifier.result import VerifierResult
from harbor.verifier.verifier import Verifier

from workbench.trials.follow import following
from workbench.trials.observer import observing


class FollowedVerifier(Verifier):
    """Harbor's own verifier, whose output is handed on live.

    What `test.sh` had printed is kept in the trial directory also when it runs into its timeout, where
    Harbor alone would lose it.
    """

    def __init__(self, **kwargs: Any) -> None:
        # Harbor tells only its own class that the verifier's image has the tests already.
        kwargs.setdefault("skip_tests_upload", _tests_are_bundled(**kwargs))
        super().__init__(**kwargs)

    @override
    async def verify(self) -> VerifierResult:
        observer, step = observing.get(), self.step_name or ""
        host_path = self.trial_paths.test_stdout_path
        path = EnvironmentPaths.for_os(self.environment.os).verifier_dir / host_path.name
        observer.phase("verifier", step)
        try:
            async with following(
                self.environment, path, host_path, lambda text: observer.output("verifier", text, step)
            ):
                return await super().verify()
        finally:
            observer.phase("teardown", step)


def _tests_are_bundled(**kwargs: Any) -> bool:
    task, environment, name = kwargs["task"], kwargs["environment"], kwargs.get("step_name")
    step = next((step for step in task.config.steps or [] if step.name == name), None)
    definition = resolve_verifier_environment_definition(task.config, task.paths, step)
    return bool(
        definition and definition.bundled_tests and definition.directory == environment.environment_dir
    )
