"""Settings from the command line."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from workbench import places, settings
from workbench.cli import commands


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv(settings.VARIABLE, raising=False)


def workbench(*words: str) -> Result:
    return CliRunner().invoke(commands, ["config", *words])


def user(text: str) -> Path:
    path = places.config_dir() / settings.USER_FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_show_prints_what_is_in_force_and_where_it_comes_from(tmp_path: Path) -> None:
    mine = user('theme = "day"\n[keys]\n"run.all" = "A"\n')
    (tmp_path / settings.TASK_FILE).write_text("wrap = false\n")
    done = workbench("show", str(tmp_path))
    assert done.exit_code == 0
    shown = tomllib.loads(done.stdout)
    assert (shown["theme"], shown["wrap"], shown["keys"]) == ("day", False, {"run.all": "A"})
    assert f"# from {mine}" in done.stdout


def test_show_leaves_out_what_is_not_in_force_and_says_so() -> None:
    user('theem = "day"\n[keys]\n"run.al" = "A"\n')
    done = workbench("show")
    assert tomllib.loads(done.stdout)["keys"] == {}
    assert "unknown setting `theem`; did you mean `theme`?" in done.stderr
    assert "unknown command `run.al` in [keys]; did you mean `run.all`?" in done.stderr


@pytest.mark.parametrize("command", ["show", "path", "validate"])
def test_a_task_s_directory_that_is_not_there_is_a_wrong_command_line(command: str, tmp_path: Path) -> None:
    done = workbench(command, str(tmp_path / "gone"))
    assert done.exit_code == 2
    assert f"{tmp_path / 'gone'}: there is no such directory" in done.stderr
    assert not done.stdout


def test_path_names_every_place_the_nearest_first(tmp_path: Path) -> None:
    mine = user("")
    done = workbench("path", str(tmp_path))
    assert done.stdout.splitlines() == [f"{tmp_path / settings.TASK_FILE}  (not there)", str(mine)]


def test_validate_is_content_with_what_is_well() -> None:
    user('theme = "day"\n[keys]\n"run.all" = "f11"\n"terminal.search" = "f4"\n')
    done = workbench("validate")
    assert (done.exit_code, done.stdout) == (0, "1 file, 4 themes: all is well\n")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('theem = "day"\n', "settings.toml:1: unknown setting `theem`; did you mean `theme`?"),
        (
            '[keys]\n"run.al" = "A"\n',
            "settings.toml:2: unknown command `run.al` in [keys]; did you mean `run.all`?",
        ),
        ('[keys]\n"run.all" = "r"\n', "keys: `r` is for both `run.case` and `run.all`"),
        ('theme = "nosuch"\n', "theme: there is no theme `nosuch`"),
        ('theme = "nihgt"\n', "theme: there is no theme `nihgt`; did you mean `night`?"),
    ],
)
def test_validate_tells_what_would_be_left_out(text: str, fault: str) -> None:
    user(text)
    done = workbench("validate")
    assert done.exit_code == 2
    assert fault in done.stderr


def test_validate_tells_of_bad_themes() -> None:
    (places.config_dir() / "themes").mkdir(parents=True)
    (places.config_dir() / "themes" / "mine.toml").write_text("dark = 3\n")
    done = workbench("validate")
    assert done.exit_code == 2
    assert "mine.toml: `dark` must be true or false" in done.stderr


def test_schema_is_json_schema() -> None:
    assert "Settings" in json.loads(workbench("schema").stdout)["$defs"]


def test_a_settings_file_that_is_not_there_is_a_wrong_command_line(tmp_path: Path) -> None:
    done = CliRunner().invoke(commands, ["open", "--config", str(tmp_path / "gone.toml"), str(tmp_path)])
    assert done.exit_code == 2
    assert "gone.toml: there is no such settings file" in done.stderr
