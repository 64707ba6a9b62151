"""Which tasks a command line means."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.check.targets import TargetError, find_tasks


def task(path: Path) -> Path:
    path.mkdir(parents=True)
    (path / "task.toml").touch()
    return path


def test_a_directory_with_a_task_toml_is_a_task(tmp_path: Path) -> None:
    outer = task(tmp_path / "outer")
    task(outer / "inner")
    assert find_tasks([outer]) == [outer]


def test_a_directory_without_stands_for_the_tasks_directly_in_it(tmp_path: Path) -> None:
    for name in ("b", "a", ".hidden", "deep/er"):
        task(tmp_path / name)
    assert find_tasks([tmp_path]) == [tmp_path / "a", tmp_path / "b"]


def test_a_task_named_twice_is_checked_once(tmp_path: Path) -> None:
    a, b = task(tmp_path / "a"), task(tmp_path / "b")
    (tmp_path / "link").symlink_to(b)
    assert find_tasks([b, tmp_path, tmp_path / "link"]) == [b, a]


def test_a_relative_path_becomes_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(task(tmp_path / "a"))
    assert find_tasks([Path()]) == [tmp_path / "a"]


def test_a_task_toml_that_is_a_broken_link_still_marks_a_task(tmp_path: Path) -> None:
    (tmp_path / "task.toml").symlink_to("nowhere")
    assert find_tasks([tmp_path]) == [tmp_path]


def test_what_is_no_task_is_named_with_its_cause(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "empty").mkdir()
    causes = {"absent": "no such directory", "file": "is a file", "empty": "no task.toml here"}
    for name, cause in causes.items():
        with pytest.raises(TargetError, match=f"{tmp_path / name}: {cause}"):
            find_tasks([tmp_path / name])
