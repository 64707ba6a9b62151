"""What users set, move and find again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.ui.driving import Driven, app_for, opened, until
from tests.ui.streams import TASK, RecordedSource, Stream, failed, holding
from workbench import events as ev
from workbench import settings, wishes
from workbench.settings import Fault, Loaded, Settings
from workbench.ui import keymap, remembered


def given(**chosen: object) -> Loaded:
    return Loaded(Settings(**chosen), (), ())  # type: ignore[arg-type]


async def test_a_moved_key_does_what_it_was_moved_to_and_the_old_one_nothing() -> None:
    moved = given(keys={"run.all": "A,f6"})
    async with opened(holding(), settings=moved) as driven:
        await driven.press("a")
        assert len(driven.source.sent) == 1
        await driven.press("A")
        assert driven.source.sent[-1] == wishes.Replay(task=TASK)
        await driven.press("question_mark")
        row = next(line for line in driven.text.splitlines() if "Run every case" in line)
        assert row.strip("│ ").split()[:2] == ["A", "f6"]


@pytest.mark.parametrize(
    ("keys", "fault"),
    [
        ({"run.all": "r"}, "`r` is for both `run.case` and `run.all`"),
        ({"run.all": "j"}, "`j` is for both `run.all` and `list.down`"),
        ({"run.all": "?"}, "`question_mark` is for both `help` and `run.all`"),
        ({"aligned.next": "x"}, "`x` is for both `compare.swap` and `aligned.next`"),
        ({"board.choose": "P"}, "`P` is for both `grid.present` and `board.choose`"),
        ({"output.search": "n"}, "`n` is for both `output.search` and `output.next`"),
        ({"grid.repeat": "P"}, "`P` is for both `grid.repeat` and `grid.present`"),
        ({"run.all": "hyperspace"}, "`run.all`: there is no key `hyperspace`"),
        ({"run.all": "ctrl+hyperspace"}, "`run.all`: there is no key `ctrl+hyperspace`"),
    ],
)
def test_keys_that_cannot_be_or_clash_are_told(keys: dict[str, str], fault: str) -> None:
    assert list(keymap.faults(keys)) == [fault]


def test_keys_as_they_ship_and_common_ones_are_fine() -> None:
    assert list(keymap.faults({})) == []
    assert list(keymap.faults({"run.all": "ctrl+a,shift+f5,alt+enter,A,insert,é,f24"})) == []


async def test_faults_in_settings_are_told_in_one_notice() -> None:
    faults = (Fault(Path("/u/settings.toml"), 3, "unknown setting `theem`; did you mean `theme`?"),)
    loaded = Loaded(Settings(keys={"run.all": "r", "run.al": "A"}), (), faults)
    async with opened(holding(), settings=loaded) as driven:
        (told,) = [notice for notice in driven.app.told if "Settings left out" in notice.message]
        assert "/u/settings.toml:3: unknown setting `theem`; did you mean `theme`?" in told.message
        assert "`r` is for both" in told.message
        assert "unknown command `run.al` in [keys]; did you mean `run.all`?" in told.message


async def test_a_set_theme_is_worn() -> None:
    async with opened(holding(), settings=given(theme="day")) as driven:
        assert driven.app.theme == "day"


async def test_a_theme_that_is_not_there_gives_the_default() -> None:
    async with opened(holding(), settings=given(theme="nosuch")) as driven:
        assert driven.app.theme == "night"
        assert "theme: there is no theme `nosuch`" in driven.app.told[-1].message


async def leave(driven: Driven) -> None:
    await driven.pilot.press("q")


async def test_case_tab_mark_and_theme_come_back() -> None:
    async with opened(holding()) as driven:
        driven.app.theme = "ember"
        await driven.press("j", "space", "j", "right_square_bracket", "right_square_bracket")
        await leave(driven)
    async with opened(holding()) as driven:
        assert driven.app.theme == "ember"
        assert "3 Run · truncates-title" in driven.text
        assert "The verifier named no tests" in driven.text
        assert "◆" in next(line for line in driven.text.splitlines() if "│ ✓ nop" in line)


async def test_both_marks_come_back_in_their_order() -> None:
    async with opened(holding()) as driven:
        await driven.press("j", "space", "k", "space")
        await leave(driven)
    assert remembered.load().tasks[TASK].marks == ("/nowhere/nop-1", "/nowhere/oracle-1")
    async with opened(holding()) as driven:
        await driven.press("j", "j", "c")
        left, right = driven.text.splitlines()[0].split("│")
        assert [left.split()[0], right.split()[0]] == ["nop", "oracle"]


@pytest.mark.parametrize(("kept", "count"), [("/nowhere/nop-1", 1), ("", 0)])
async def test_the_mark_that_an_earlier_version_kept_comes_back(kept: str, count: int) -> None:
    remembered.file().parent.mkdir(parents=True)
    remembered.file().write_text(json.dumps({"theme": "night", "tasks": {TASK: {"marked": kept}}}))
    async with opened(holding()) as driven:
        assert driven.text.count("◆") == count


async def test_a_mark_comes_back_on_a_run_that_a_receipt_tells_of() -> None:
    async with opened(holding()) as driven:
        await driven.press("j", "space")
        await leave(driven)
    stream = (
        Stream()
        .engine()
        .task()
        .add(
            ev.RunRecalled(
                task=TASK,
                case="nop",
                run="another-id",
                outcome=failed(),
                ran_at=0.0,
                trial_dir="/nowhere/nop-1",
            )
        )
    )
    async with opened(stream) as driven:
        assert "◆" in next(line for line in driven.text.splitlines() if "│ ✓ nop" in line)
        await driven.press("space")
        assert "◆" not in driven.text


async def test_nothing_comes_back_where_that_is_set() -> None:
    async with opened(holding()) as driven:
        await driven.press("j")
        await leave(driven)
    async with opened(holding(), settings=given(remember=False)) as driven:
        assert "3 Run · oracle" in driven.text


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"tasks": 3}', '{"theme": "gone", "tasks": {"x": {"tab": 1}}}']
)
async def test_what_was_kept_and_cannot_be_read_is_no_obstacle(text: str) -> None:
    remembered.file().parent.mkdir(parents=True)
    remembered.file().write_text(text)
    async with opened(holding()) as driven:
        assert "3 Run · oracle" in driven.text
        await leave(driven)
    assert TASK in json.loads(remembered.file().read_text())["tasks"]


async def test_a_remembered_case_and_tab_that_are_gone_are_let_go() -> None:
    remembered.keep(TASK, "night", remembered.TaskLook(case="gone", tab="gone"))
    async with opened(holding()) as driven:
        assert "3 Run · oracle" in driven.text
        assert "6 passed" in driven.text


def test_only_so_many_tasks_are_remembered_the_newest_last() -> None:
    for number in range(205):
        remembered.keep(f"/t/{number}", "night", remembered.TaskLook())
    assert list(remembered.load().tasks) == [f"/t/{number}" for number in range(5, 205)]


async def test_a_task_of_its_own_settings_is_opened_with_them(tmp_path: Path) -> None:
    (tmp_path / settings.TASK_FILE).write_text('theme = "contrast"\n')
    source = RecordedSource(holding().events)
    app = app_for(holding(), source, settings=settings.load(tmp_path))
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.up_to_date)
        assert app.theme == "contrast"
