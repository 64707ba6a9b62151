"""When the screen itself fails, a user finds a word and a file, and no traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ui.driving import app_for, until
from tests.ui.streams import RecordedSource, holding
from workbench.recording.recording import Recording
from workbench.ui import app as app_module
from workbench.ui import crash, playing
from workbench.ui.app import WorkbenchApp


def test_a_report_says_what_happened_where_and_with_what(capsys: pytest.CaptureFixture[str]) -> None:
    try:
        raise KeyError("lost")
    except KeyError as error:
        crash.tell(error, "slugify")
    said = capsys.readouterr().err
    (report,) = crash.directory().glob("crash-*.txt")
    assert said == (
        f"The screen failed: KeyError: 'lost'. A report is in {report}; send it along. "
        "The task's files and its runs are untouched.\n"
    )
    text = report.read_text()
    assert "slugify" in text
    assert "test_crash.py" in text
    assert "Textual 8." in text


def test_only_the_newest_reports_are_kept() -> None:
    crash.directory().mkdir(parents=True)
    for number in range(30):
        (crash.directory() / f"crash-2000-{number:02}.txt").write_text("")
    crash.write(ValueError("x"), "task")
    kept = sorted(path.name for path in crash.directory().iterdir())
    assert len(kept) == 20
    assert "crash-2000-29.txt" in kept
    assert "crash-2000-00.txt" not in kept


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Screens that fail as soon as they are run."""

    def run(app: WorkbenchApp) -> None:
        app._exception = RuntimeError("boom")

    monkeypatch.setattr(WorkbenchApp, "run", run)


@pytest.mark.usefixtures("failing")
def test_a_failing_screen_leaves_a_report_no_traceback_and_exit_code_3(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as left:
        app_module.run(RecordedSource(), Path("/tasks/slugify"))
    assert left.value.code == 3
    said = capsys.readouterr().err
    assert "RuntimeError: boom" in said
    assert "Traceback" not in said


@pytest.mark.usefixtures("failing")
def test_a_failing_player_leaves_a_report_too(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        playing.play(Recording(holding().events), Path("/tasks/slugify"))
    assert left.value.code == 3
    assert "RuntimeError: boom" in capsys.readouterr().err


async def test_the_screen_prints_no_traceback_of_its_own() -> None:
    source = RecordedSource(holding().events)
    app = app_for(holding(), source)
    with pytest.raises(RuntimeError, match="boom"):  # noqa: PT012
        async with app.run_test() as pilot:
            await until(pilot, lambda: app.up_to_date)
            app._handle_exception(RuntimeError("boom"))
            await pilot.pause()
    assert app._exit_renderables == []
    assert isinstance(app.failure, RuntimeError)
