"""What the command line says to the screen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from workbench import cli
from workbench.ui import app, plain


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """How the screen was asked to run."""
    asked: list[dict[str, Any]] = []
    monkeypatch.setattr(cli, "need_a_terminal", lambda otherwise: None)
    monkeypatch.setattr(app, "run", lambda source, task, **options: asked.append({"task": task, **options}))
    return asked


def test_a_task_that_another_is_left_for_is_opened_in_its_place(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    opened: list[Path] = []

    def run(source: object, task: Path, **options: Any) -> Path | None:
        opened.append(task)
        return tmp_path / "second" if len(opened) == 1 else None

    monkeypatch.setattr(cli, "need_a_terminal", lambda otherwise: None)
    monkeypatch.setattr(app, "run", run)
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
    call("open", tmp_path / "first")
    assert opened == [tmp_path / "first", tmp_path / "second"]


def call(*words: str | Path) -> None:
    cli.commands.main([str(word) for word in words], standalone_mode=False)


@pytest.mark.parametrize(("flags", "shell"), [((), True), (("--no-shell",), False)])
def test_a_shell_is_opened_at_the_start_unless_told_not_to(
    ran: list[dict[str, Any]], tmp_path: Path, flags: tuple[str, ...], shell: bool
) -> None:
    call("open", tmp_path, *flags)
    assert [asked["shell"] for asked in ran] == [shell]


@pytest.mark.parametrize(("flags", "bell"), [((), True), (("--no-bell",), False)])
def test_it_may_ring_unless_told_not_to(
    ran: list[dict[str, Any]], tmp_path: Path, flags: tuple[str, ...], bell: bool
) -> None:
    call(tmp_path, *flags)
    assert [asked["bell"] for asked in ran] == [bell]


@pytest.mark.parametrize("words", [(), ("open",)], ids=["short", "open"])
def test_trials_made_elsewhere_are_opened_to_look_at_with_and_without_the_word(
    ran: list[dict[str, Any]], tmp_path: Path, words: tuple[str, ...]
) -> None:
    trial = tmp_path / "job" / "hello__abc"
    trial.mkdir(parents=True)
    (trial / "trial.log").write_text("")
    (trial / "config.json").write_text("{}")
    for directory in (trial, trial.parent):
        call(*words, directory)
    assert [(asked["paused"], asked["shell"]) for asked in ran] == [(True, False)] * 2


def test_agents_are_tried_without_a_screen_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[dict[str, Any]] = []
    monkeypatch.setattr(plain, "run", lambda source, task, **options: asked.append(options))
    call("open", tmp_path, "--plain", "--agent", "claude-code", "--model", "some/model")
    assert [[agent.agent for agent in options["agents"]] for options in asked] == [["claude-code"]]
