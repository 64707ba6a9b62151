"""Ways to get somewhere else: to a case, a line, a file, the clipboard, another size."""

from __future__ import annotations

import errno
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest
from textual import events
from textual.command import CommandPalette
from textual.widgets import Input

from tests.ui.driving import Driven, app_for, opened, screen_text, until
from tests.ui.scenes import with_tests
from tests.ui.streams import TASK, RecordedSource, Stream, broken, busy, failed, holding
from workbench import events as ev
from workbench.proof.verdict import Verdict
from workbench.settings import Loaded, Settings
from workbench.trials.outcome import Outcome, Test
from workbench.ui import opening, remembered, tasks
from workbench.ui.app import WorkbenchApp
from workbench.ui.panes.run_pane import RunPane
from workbench.ui.screens.task_screen import TaskScreen
from workbench.ui.widgets.test_list import TestList


@pytest.fixture
def lent(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The programs that the terminal was lent to."""
    ran: list[list[str]] = []

    @contextmanager
    def suspend(app: WorkbenchApp) -> Iterator[None]:
        yield

    def run(words: list[str], env: None, check: bool) -> subprocess.CompletedProcess[bytes]:
        ran.append(words)
        return subprocess.CompletedProcess(words, 0)

    monkeypatch.setattr(WorkbenchApp, "suspend", suspend)
    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setenv("VISUAL", "")
    monkeypatch.setenv("EDITOR", "vim")
    return ran


async def idle(driven: Driven) -> None:
    await until(driven.pilot, lambda: not [w for w in driven.app.workers if w.group != "events"])
    await driven.settle()


@pytest.mark.parametrize(
    ("typed", "seen"),
    [
        ("trunc", "3 Run · truncates-title"),
        ("hc", "3 Run · hard-coded"),
        ("timing", "of machine time"),
        ("oracle · 1", "3 Run · oracle · 1 of 2"),
    ],
)
async def test_anything_is_gone_to_by_a_part_of_its_name(typed: str, seen: str) -> None:
    stream = holding().queue("oracle", "oracle-2")
    async with opened(stream) as driven:
        await driven.press("colon", *("space" if key == " " else key for key in typed), "enter")
        await until(driven.pilot, lambda: seen in driven.text)


async def test_a_tab_is_gone_to_from_within_another() -> None:
    async with opened(holding()) as driven:
        for name in ("timing", "log", "timing"):
            await driven.press("colon", *name, "enter")
            await idle(driven)
            assert driven.app.screen.query_one(RunPane).tab == name


async def test_a_number_is_a_line_of_the_output() -> None:
    stream = Stream().engine().task().queue("oracle").start("oracle").phase("oracle-1", "verifier")
    stream.print("oracle-1", "".join(f"line {number}\n" for number in range(1, 500)))
    async with opened(stream) as driven:
        await driven.press("colon", *"250", "enter")
        await idle(driven)
        assert "line 250" in driven.text
        assert "following" not in driven.text


async def test_escape_goes_nowhere() -> None:
    async with opened(holding()) as driven:
        await driven.press("colon", *"hard", "escape")
        assert "3 Run · oracle" in driven.text


async def test_what_matches_nothing_goes_nowhere() -> None:
    async with opened(holding()) as driven:
        await driven.press("colon", *"hard")
        assert "nothing matches" not in driven.text
        await driven.press(*"zzzz")
        assert "nothing matches" in driven.text
        await driven.press("enter")
        assert "3 Run · oracle" in driven.text


async def test_cases_are_found_by_a_part_of_their_name() -> None:
    async with opened(holding()) as driven:
        await driven.press("slash", *"acc")
        assert "case    keeps-accents" in driven.text
        assert "case    hard-coded" not in driven.text
        await driven.press("enter")
        assert "3 Run · keeps-accents" in driven.text


def test_a_task_in_a_directory_that_may_not_be_looked_into_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("here", "mine", "theirs"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "task.toml").touch()
        remembered.keep(str(tmp_path / name), "night", remembered.TaskLook())
    stat = Path.stat

    def refused(path: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        if path.parent == tmp_path / "theirs":
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return stat(path, follow_symlinks=follow_symlinks)

    monkeypatch.setattr(Path, "stat", refused)
    assert tasks.others(tmp_path / "here") == [tmp_path / "mine"]


async def test_another_task_is_found_by_a_part_of_its_name_and_left_for(tmp_path: Path) -> None:
    for name in ("slugify", "prices", "no-task"):
        (tmp_path / name).mkdir()
    for name in ("slugify", "prices"):
        (tmp_path / name / "task.toml").write_text("")
    source = RecordedSource(holding().events)
    app = WorkbenchApp(source, tmp_path / "slugify", can_open_others=True)
    async with app.run_test(size=(160, 50)) as pilot:
        await until(pilot, lambda: source.all_taken and app.up_to_date)
        await pilot.press("slash", *"pri")
        await pilot.pause()
        assert "task    prices  " in screen_text(app)
        assert "no-task" not in screen_text(app)
        await pilot.press("enter")
        await until(pilot, lambda: not app.is_running or app.leaves_for is not None)
    assert app.leaves_for == tmp_path / "prices"


@pytest.mark.parametrize("newcomer", [True, False])
async def test_a_newcomer_is_told_where_to_find_everything(newcomer: bool) -> None:
    source = RecordedSource(holding().events)
    app = WorkbenchApp(source, Path("/home/author/tasks/slugify"), newcomer=newcomer)
    async with app.run_test(size=(160, 50), notifications=True) as pilot:
        await until(pilot, lambda: source.all_taken and app.up_to_date)
        assert bool(app.told) is newcomer
        if newcomer:
            await until(pilot, lambda: "? lists all keys, and ^p finds any command" in screen_text(app))


async def test_what_is_typed_right_after_the_key_of_a_finder_is_sought_and_no_command() -> None:
    async with opened(holding()) as driven:
        for character in "/acc":
            key = {"/": "slash"}.get(character, character)
            driven.app.post_message(events.Key(key, character))
        await until(driven.pilot, lambda: "case    keeps-accents" in driven.text)
        await until(driven.pilot, lambda: "case    hard-coded" not in driven.text)
        assert len(driven.source.sent) == 1


async def test_what_is_typed_right_after_the_key_of_a_search_is_sought_and_no_command() -> None:
    async with opened(holding()) as driven:
        await driven.press("3")
        for character in "/pass":
            key = {"/": "slash"}.get(character, character)
            driven.app.post_message(events.Key(key, character))
        await until(driven.pilot, lambda: "match 1 of 1" in driven.text)
        assert len(driven.source.sent) == 1


async def test_a_tab_that_is_entered_before_its_content_is_there_is_entered_once_it_is() -> None:
    async with opened(with_tests()) as driven:
        for key in ("right_square_bracket", "right_square_bracket", "3"):
            driven.app.post_message(events.Key(key, None))
        await until(driven.pilot, lambda: "test_setup" in driven.text)
        await until(driven.pilot, lambda: isinstance(driven.app.focused, TestList))


async def test_the_cases_script_is_edited(lent: list[list[str]]) -> None:
    async with opened(holding()) as driven:
        await driven.press("e")
        assert lent == [["vim", "/home/author/tasks/slugify/solution/solve.sh"]]
        await driven.press("j", "e")
        assert lent[-1] == ["vim", "/home/author/tasks/slugify/task.toml"]


async def test_where_a_task_is_not_no_editor_makes_a_file_of_it(
    lent: list[list[str]], tmp_path: Path
) -> None:
    async with opened(holding().made_elsewhere()) as driven:
        await driven.press("e")
        assert driven.app.told[-1].message == f"There is no file {TASK}/solution/solve.sh here."
        assert lent == []
        screen = driven.app.screen
        assert isinstance(screen, TaskScreen)
        file = tmp_path / "test.sh"
        file.touch()
        screen.edit(file, 3)
        assert lent == [["vim", "+3", str(file)]]


async def test_a_problem_is_edited_at_its_line(lent: list[list[str]]) -> None:
    async with opened(broken()) as driven:
        await driven.press("2", "e")
        assert lent == [["vim", "+12", "/home/author/tasks/slugify/task.toml"]]


async def test_the_set_editor_goes_before_the_environments(lent: list[list[str]]) -> None:
    chosen = Loaded(Settings(editor="code --wait"), (), ())
    async with opened(broken(), settings=chosen) as driven:
        await driven.press("2", "e")
        assert lent == [["code", "--wait", "--goto", "/home/author/tasks/slugify/task.toml:12"]]


async def test_without_an_editor_the_next_step_is_said(
    lent: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDITOR", " ")
    async with opened(holding()) as driven:
        await driven.press("e")
        assert lent == []
        assert "No editor is set: set EDITOR" in driven.text


@pytest.fixture
def task_files(tmp_path: Path) -> Path:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_outputs.py").write_text("x\n" * 50)
    for name in ("one/tests/grade.py", "two/tests/grade.py", "two/tests/test.sh"):
        path = tmp_path / "steps" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return tmp_path


async def test_the_place_that_a_test_s_message_names_is_opened_else_the_cases_script(
    lent: list[list[str]], task_files: Path
) -> None:
    tests = (
        Test("test_long", "failed", "it was cut\n/tests/test_outputs.py:31: AssertionError"),
        Test("test_words", "failed", "it was cut"),
        Test("test_trace", "failed", "it was cut", trace="/tests/test_outputs.py:7: AssertionError"),
    )
    outcome = Outcome(kind="failed", reason="graded 0.0", reward=0.0, met=False, tests=tests)
    stream = Stream().engine().task().whole("oracle", outcome)
    stream.events = [_moved(event, str(task_files)) for event in stream.events]
    source = RecordedSource(stream.events)
    app = WorkbenchApp(source, task_files, clock=lambda: stream.now)
    async with app.run_test(size=(160, 50)) as pilot:
        await until(pilot, lambda: source.all_taken and app.up_to_date)
        await pilot.press("right_square_bracket", "right_square_bracket", "3")
        await until(pilot, lambda: isinstance(app.focused, TestList))
        await pilot.press("e")
        await until(pilot, lambda: lent == [["vim", "+31", str(task_files / "tests" / "test_outputs.py")]])
        await pilot.press("j", "e")
        await until(pilot, lambda: lent[1:] == [["vim", str(task_files / "solution" / "solve.sh")]])
        await pilot.press("j", "e")
        await until(pilot, lambda: lent[2:] == [["vim", "+7", str(task_files / "tests" / "test_outputs.py")]])


async def test_a_place_in_the_output_is_opened_by_key_and_by_click(
    lent: list[list[str]], task_files: Path
) -> None:
    stream = (
        Stream()
        .engine()
        .task()
        .whole("oracle", failed(), "\x1b[31m/tests/test_outputs.py\x1b[0m:31: AssertionError\n")
    )
    stream.events = [_moved(event, str(task_files)) for event in stream.events]
    source = RecordedSource(stream.events)
    app = WorkbenchApp(source, task_files, clock=lambda: stream.now)
    async with app.run_test(size=(160, 50)) as pilot:
        await until(pilot, lambda: source.all_taken and app.up_to_date)
        await pilot.press("3")
        await pilot.press("e")
        file = str(task_files / "tests" / "test_outputs.py")
        await until(pilot, lambda: lent == [["vim", "+31", file]])
        y = next(at for at, line in enumerate(screen_text(app).splitlines()) if "AssertionError" in line)
        x = screen_text(app).splitlines()[y].index("test_outputs.py")
        await pilot.click(offset=(x, y))
        await until(pilot, lambda: lent == [["vim", "+31", file]] * 2)
        await pilot.click(offset=(x + 25, y))
        await pilot.pause()
        assert len(lent) == 2


def _moved(event: ev.Event, task: str) -> ev.Event:
    return msgspec.structs.replace(event, task=task) if getattr(event, "task", "") else event


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("/tests/test_outputs.py:31: AssertionError", [("tests/test_outputs.py", 31)]),
        ("../tests/test_outputs.py:7", [("tests/test_outputs.py", 7)]),
        ("tests/test_outputs.py:7:3: E501", [("tests/test_outputs.py", 7)]),
        (
            "test_outputs.py:9 and test_outputs.py:10",
            [("tests/test_outputs.py", 9), ("tests/test_outputs.py", 10)],
        ),
        ('  File "/tests/test_outputs.py", line 12, in test_long', [("tests/test_outputs.py", 12)]),
        ("/tests/test.sh: line 3: pytest: command not found", [("steps/two/tests/test.sh", 3)]),
        ("/tests/grade.py:3", []),
        ('  File "/usr/lib/python3/os.py", line 12, in run', []),
        ("/usr/lib/python3/os.py:12", []),
        ("http://localhost:8080", []),
        ("12:30:45", []),
        ("../../../../etc/passwd:1", []),
    ],
)
def test_places_are_those_in_the_tasks_files(
    task_files: Path, text: str, found: list[tuple[str, int]]
) -> None:
    told = [
        (str(path.relative_to(task_files)), line) for _, _, path, line in opening.places(text, task_files)
    ]
    assert told == found


@pytest.mark.parametrize(
    ("editor", "words"),
    [
        ("vim", ["vim", "+3", "/a b"]),
        ("/usr/bin/nano -w", ["/usr/bin/nano", "-w", "+3", "/a b"]),
        ("hx", ["hx", "/a b:3"]),
        ("code -n", ["code", "-n", "--goto", "/a b:3"]),
        ("ed", ["ed", "/a b"]),
    ],
)
def test_each_editor_is_told_the_line_as_it_takes_it(editor: str, words: list[str]) -> None:
    assert opening.editing(editor, Path("/a b"), 3) == words


async def test_an_editor_that_is_not_there_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def suspend(app: WorkbenchApp) -> Iterator[None]:
        yield

    monkeypatch.setattr(WorkbenchApp, "suspend", suspend)
    chosen = Loaded(Settings(editor="/nowhere/editor"), (), ())
    async with opened(holding(), settings=chosen) as driven:
        await driven.press("e")
        assert "/nowhere/editor: No such file or directory." in driven.text


async def test_an_editor_that_fails_is_said(lent: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "run", lambda words, **_: subprocess.CompletedProcess(words, -15))
    async with opened(holding()) as driven:
        await driven.press("e")
        assert driven.app.told[-1].message == "vim ended with exit code 143."


async def test_an_editors_command_that_cannot_be_split_is_said() -> None:
    async with opened(holding(), settings=Loaded(Settings(editor="vim 'x"), (), ())) as driven:
        await driven.press("e")
        assert driven.app.told[-1].message.endswith("cannot be used: No closing quotation.")


async def test_all_of_the_output_goes_to_the_pager(
    lent: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def run(words: list[str], env: None, check: bool) -> subprocess.CompletedProcess[bytes]:
        lent.append(words[:-1])
        read.append(Path(words[-1]).read_text())
        return subprocess.CompletedProcess(words, 0)

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setenv("PAGER", "more -x")
    stream = Stream().engine().task().whole("oracle", failed(), "\x1b[31mred\x1b[0m\nplain\n")
    async with opened(stream) as driven:
        await driven.press("3", "v")
        assert (lent, read) == ([["more", "-x"]], ["red\nplain\n"])


async def test_a_disk_that_has_no_room_for_the_pager_s_file_is_said(
    lent: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/no/such/directory")
    async with opened(holding()) as driven:
        await driven.press("3", "v")
        assert driven.app.told[-1].message == (
            "The output cannot be written for the pager: No such file or directory."
        )
        assert lent == []


async def test_output_rows_and_paths_are_copied() -> None:
    async with opened(holding()) as driven:
        await driven.press("3", "y")
        assert driven.app.clipboard.splitlines()[1] == "collected 6 items"
        await driven.press("1", "y")
        assert driven.app.clipboard.split()[:4] == ["✓", "oracle", "pass", "1.0"]
        await driven.press("Y")
        assert driven.app.clipboard == "/nowhere/oracle-1"


async def test_keys_make_the_left_column_wider_and_narrower_and_that_comes_back() -> None:
    async with opened(holding()) as driven:
        before = driven.app.screen.query_one("#left").outer_size.width
        await driven.press("greater_than_sign", "greater_than_sign", "less_than_sign")
        assert driven.app.screen.query_one("#left").outer_size.width == before + 4
        await driven.press("q")
    assert remembered.load().tasks[str(Path("/home/author/tasks/slugify"))].left == before + 4
    async with opened(holding()) as driven:
        await driven.settle()
        assert driven.app.screen.query_one("#left").outer_size.width == before + 4


async def test_where_there_is_no_border_to_move_that_is_said() -> None:
    for size, key in (((100, 30), "ctrl+up"), ((100, 30), "less_than_sign"), ((160, 50), "ctrl+up")):
        async with opened(holding(), size) as driven:
            await driven.press(key)
            assert driven.app.told[-1].message.startswith("No border to move here")


async def test_the_border_between_columns_is_dragged() -> None:
    async with opened(holding()) as driven:
        left = driven.app.screen.query_one("#left")
        edge = left.region.right - 1
        await driven.pilot.mouse_down(offset=(edge, 10))
        await driven.pilot.hover(offset=(edge + 12, 12))
        await driven.pilot.mouse_up(offset=(edge + 12, 12))
        await driven.settle()
        assert left.region.right - 1 == edge + 12


async def test_a_column_that_was_sized_leaves_a_narrow_screen_alone() -> None:
    async with opened(holding()) as driven:
        await driven.press("greater_than_sign")
        await driven.pilot.resize_terminal(90, 30)
        await driven.settle()
        assert driven.app.screen.query_one("#left").outer_size.width == 90


async def test_a_pane_is_maximised_and_given_back() -> None:
    async with opened(holding()) as driven:
        await driven.press("3", "z")
        assert "1 Cases" not in driven.text
        assert "6 passed" in driven.text
        await driven.press("z")
        assert "1 Cases" in driven.text


async def test_notices_are_kept_the_newest_first() -> None:
    async with opened(holding()) as driven:
        for text in ("first thing", "second [bold]thing\x1b[2J"):
            driven.source.feed(ev.Notice(level="warning", message=text))
        await driven.settle()
        await driven.press("at")
        lines = driven.text.splitlines()
        rows = [
            next(y for y, line in enumerate(lines) if part in line and ":" in line)
            for part in ("second [bold]thing␛[2J", "first thing")
        ]
        assert rows[0] < rows[1]
        await driven.press("escape")


@pytest.mark.parametrize(("focused", "bell", "rung"), [(False, True, 1), (True, True, 0), (False, False, 0)])
async def test_a_verdict_that_turns_while_the_terminal_has_no_focus_rings(
    monkeypatch: pytest.MonkeyPatch, focused: bool, bell: bool, rung: int
) -> None:
    rings: list[str] = []
    monkeypatch.setattr(WorkbenchApp, "bell", lambda app: rings.append("bell"))
    monkeypatch.setattr(WorkbenchApp, "tell_desktop", lambda app, text: rings.append(text))
    async with opened(holding(), settings=Loaded(Settings(bell=bell), (), ())) as driven:
        driven.app.app_focus = focused
        task = next(iter(driven.app.session.tasks))
        for kind in ("holds", "broken"):
            driven.source.feed(ev.VerdictReached(task=task, verdict=Verdict(kind, "why")))
        await driven.settle()
        assert rings == ["bell", "slugify: BROKEN"] * rung


async def test_the_first_verdict_does_not_ring(monkeypatch: pytest.MonkeyPatch) -> None:
    rings: list[str] = []
    monkeypatch.setattr(WorkbenchApp, "bell", lambda app: rings.append("bell"))
    stream = busy()
    source = RecordedSource(stream.events)
    app = app_for(stream, source)
    async with app.run_test() as pilot:
        app.app_focus = False
        source.feed(*holding().events)
        await until(pilot, lambda: source.all_taken and app.up_to_date)
        assert rings == []


@pytest.mark.parametrize(
    ("keys", "title"),
    [
        (("question_mark",), "Help"),
        (("colon",), "Go to"),
        (("C",), "Compare with"),
        (("at",), "Notices"),
        (("m",), "What machines and states cost"),
        (("b",), "Images"),
    ],
)
async def test_a_click_beside_what_lies_over_the_screen_closes_it(keys: tuple[str, ...], title: str) -> None:
    async with opened(holding()) as driven:
        await driven.press(*keys)
        assert title in driven.text
        await driven.pilot.click(offset=(1, 48))
        await driven.settle()
        assert len(driven.app.screen_stack) == 2


async def test_every_command_is_reached_by_the_mouse_alone() -> None:
    async with opened(holding()) as driven:
        footer = driven.text.splitlines()[-1]
        await driven.pilot.click(offset=(footer.index("Commands"), 49))
        await until(driven.pilot, lambda: "Run unmet" in driven.text)
        y = next(at for at, line in enumerate(driven.text.splitlines()) if "Run unmet" in line)
        await driven.pilot.click(offset=(80, y))
        await until(driven.pilot, lambda: "Every case came out as it must." in driven.text)


@pytest.mark.parametrize("key", ["D", "b", "m", "at"])
async def test_help_and_palette_are_there_over_every_screen(key: str) -> None:
    async with opened(holding()) as driven:
        await driven.press(key, "question_mark")
        assert "filter by key or word" in driven.text
        await driven.press("escape", "ctrl+p")
        await until(driven.pilot, lambda: isinstance(driven.app.screen, CommandPalette))


@pytest.mark.parametrize("over", ["D", "b", "m", "at"])
@pytest.mark.parametrize("key", ["q", "ctrl+q"])
async def test_the_workbench_is_left_from_what_lies_over_the_screen(over: str, key: str) -> None:
    async with opened(holding()) as driven:
        await driven.press(over)
        await driven.pilot.press(key)
        await until(driven.pilot, lambda: not driven.app.is_running)


async def test_keys_that_work_everywhere_are_letters_in_a_line_to_type_in() -> None:
    async with opened(holding()) as driven:
        await driven.pilot.press("slash", "q", "at")
        await driven.settle()
        focused = driven.app.focused
        assert isinstance(focused, Input)
        assert focused.value == "q@"
