"""What marks a task."""

from __future__ import annotations

from pathlib import Path

from harbor.models.task.paths import TaskPaths

from workbench.task.marked import CONFIG, is_task


def test_the_mark_is_harbors_own(tmp_path: Path) -> None:
    assert TaskPaths.CONFIG_FILENAME == CONFIG
    assert not is_task(tmp_path)
    (tmp_path / CONFIG).symlink_to("nowhere")
    assert is_task(tmp_path)
