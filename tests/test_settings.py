"""Settings in layers, with a word for everything that is left out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from workbench import places, settings
from workbench.settings import Fault, Settings


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv(settings.VARIABLE, raising=False)


def user(text: str) -> Path:
    path = places.config_dir() / settings.USER_FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_without_files_everything_is_as_it_ships() -> None:
    loaded = settings.load()
    assert (loaded.settings, loaded.files, loaded.faults) == (Settings(), (), ())


def test_the_explicit_file_goes_before_the_tasks_and_that_before_the_users(tmp_path: Path) -> None:
    task = tmp_path / "task"
    task.mkdir()
    mine = user('theme = "day"\neditor = "vim"\npager = "less"\n')
    (task / settings.TASK_FILE).write_text('theme = "ember"\nwrap = false\nbell = false\n')
    explicit = tmp_path / "x.toml"
    explicit.write_text('theme = "contrast"\nwrap = true\neditor = "nano"\n')
    loaded = settings.load(task, explicit)
    assert loaded.settings == Settings(theme="contrast", bell=False, editor="nano", pager="less")
    assert loaded.files == (explicit, task / settings.TASK_FILE, mine)


def test_a_task_chooses_no_program_that_runs_outside_of_machines(tmp_path: Path) -> None:
    mine = user('editor = "vim"\n')
    path = tmp_path / settings.TASK_FILE
    path.write_text('wrap = false\neditor = "touch /tmp/x"\npager = "sh -c id"\n')
    loaded = settings.load(tmp_path)
    assert loaded.settings == Settings(wrap=False, editor="vim")
    refused = f": a task cannot choose a program of this machine; set it in {mine}"
    assert [str(fault) for fault in loaded.faults] == [
        f"{path}:2: `editor`{refused}",
        f"{path}:3: `pager`{refused}",
    ]
    assert settings.load(explicit=path).settings.pager == "sh -c id"


def test_the_environment_names_an_explicit_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text("wrap = false\n")
    monkeypatch.setenv(settings.VARIABLE, str(tmp_path / "x.toml"))
    assert settings.load().settings == Settings(wrap=False)


def test_keys_of_all_layers_count_the_nearest_first(tmp_path: Path) -> None:
    user('[keys]\n"run.all" = "A"\n"run.case" = "enter"\n')
    (tmp_path / settings.TASK_FILE).write_text('[keys]\n"run.all" = "f6"\n')
    assert settings.load(tmp_path).settings.keys == {"run.all": "f6", "run.case": "enter"}


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ('\ntheem = "day"\n', 2, "unknown setting `theem`; did you mean `theme`?"),
        ("nonsense = 1\n", 1, "unknown setting `nonsense`"),
        ('wrap = "yes"\n', 1, "`wrap`: expected `bool`, got `str`"),
        (
            'theme = "day"\n[keys]\n"run.al" = "A"\n',
            3,
            "unknown command `run.al` in [keys]; did you mean `run.all`?",
        ),
        ('[keys]\n"run.all" = 3\n', 2, '`run.all` in [keys]: expected keys such as "A,f5"'),
        (
            '[keys]\nrun.all = "A"\n',
            2,
            '`run` in [keys] is a table; commands stand in quotes, as in "run.all" = "A"',
        ),
        ("keys = 3\n", 1, "`keys`: expected `object`, got `int`"),
        ("theme = \n", 1, "Invalid value (at line 1, column 9)"),
    ],
)
def test_what_is_wrong_is_left_out_with_its_place(text: str, line: int, message: str) -> None:
    path = user(text)
    loaded = settings.load(commands=["run.all", "run.case"])
    assert loaded.faults == (Fault(path, line, message),)
    assert loaded.settings.wrap is True
    assert str(loaded.faults[0]) == f"{path}:{line}: {message}"


def test_what_is_right_beside_what_is_wrong_counts() -> None:
    user('wrap = 3\ntheme = "day"\n')
    assert settings.load().settings == Settings(theme="day")
    user('[keys]\n"run.all" = 3\n"run.case" = "enter"\n')
    assert settings.load().settings.keys == {"run.case": "enter"}


def test_an_explicit_file_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    loaded = settings.load(explicit=tmp_path / "gone.toml")
    assert loaded.faults == (Fault(tmp_path / "gone.toml", None, "there is no such file"),)
    monkeypatch.setenv(settings.VARIABLE, str(tmp_path / "gone.toml"))
    assert settings.load().faults == loaded.faults


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    path = user("")
    path.write_bytes(b"\xff\xfe")
    assert "invalid start byte" in settings.load().faults[0].message
    assert settings.load(explicit=path.parent).faults[0].message == "cannot be read: Is a directory"


def test_the_schema_names_every_setting_with_its_type() -> None:
    described = json.loads(settings.schema())
    (definition,) = described["$defs"].values()
    assert definition["additionalProperties"] is False
    assert definition["properties"]["wrap"] == {
        "type": "boolean",
        "default": True,
        "description": "Whether long lines of output are broken at first.",
    }
    assert all(described["description"].endswith(".") for described in definition["properties"].values())
    assert set(definition["properties"]) == set(Settings.__struct_fields__)
