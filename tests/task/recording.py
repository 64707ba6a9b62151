"""A Harbor environment that runs nothing and writes down what Harbor uploads to it."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Any, override

from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.environments.capabilities import EnvironmentCapabilities

IMPORT_PATH = f"{__name__}:RecordingEnvironment"
WORKDIR = "/work"

uploaded: set[tuple[str, str, bytes]] = set()
"""The target directory, the path beneath it and the content of each file that was uploaded."""


class RecordingEnvironment(BaseEnvironment):
    """Every command succeeds, and the reward is 1."""

    @staticmethod
    @override
    def type() -> str:
        return "recording"

    @property
    @override
    def capabilities(self) -> EnvironmentCapabilities:
        return EnvironmentCapabilities(disable_internet=True)

    @override
    def _validate_definition(self) -> None:
        pass

    @override
    async def start(self, force_build: bool) -> None:
        await self._upload_environment_dir_after_start()

    @override
    async def stop(self, delete: bool) -> None:
        pass

    @override
    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        target = PurePosixPath(target_path)
        uploaded.add((str(target.parent), target.name, Path(source_path).read_bytes()))

    @override
    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        source = Path(source_dir)
        files = (path for path in source.rglob("*") if path.is_file())
        uploaded.update(
            (target_dir, path.relative_to(source).as_posix(), path.read_bytes()) for path in files
        )

    @override
    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        Path(target_path).write_text("")

    @override
    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        Path(target_dir).mkdir(parents=True, exist_ok=True)
        if source_dir.endswith("verifier"):
            (Path(target_dir) / "reward.txt").write_text("1")

    @override
    async def exec(self, command: str, *args: Any, **kwargs: Any) -> ExecResult:
        return ExecResult(stdout=WORKDIR if command == "pwd" else "", stderr="", return_code=0)
