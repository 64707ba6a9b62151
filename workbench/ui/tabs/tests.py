"""The verifier's checks by name, failures first, and the selected one's message in full."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from textual import on
from textual.actions import SkipAction
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static

from workbench.session import Run
from workbench.trials.outcome import Test
from workbench.ui import words
from workbench.ui.ansi import uncolored
from workbench.ui.lines import LiveLines
from workbench.ui.opening import places
from workbench.ui.screen_commands import TESTS
from workbench.ui.tabs.reading import ReadingTab, TextPane
from workbench.ui.tabs.tab import Shown
from workbench.ui.widgets.line_list import LineList
from workbench.ui.widgets.log_view import LogView
from workbench.ui.widgets.test_list import ORDER, TestList

_BOLD, _DIM, _PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[0m"


class TestsTab(ReadingTab):
    """Checks over what the selected one says."""

    __test__ = False
    OFFER = TESTS
    BINDINGS = TESTS.bindings()

    def __init__(self) -> None:
        super().__init__()
        self._tests: tuple[Test, ...] | None = None
        self._told: Test | None = None
        """The check whose message is shown."""

    def compose(self) -> ComposeResult:
        """How many came out how, the list, and the selected one's message."""
        yield Static(classes="summary")
        yield TestList()
        yield TextPane("test-message")

    def show(self, shown: Shown) -> None:
        """Show the run's checks."""
        run = shown.run
        tests = run.tests if run else ()
        listed = self.query_one(TestList)
        self.query_one(TextPane).log_view.home = Path(shown.task.path)
        self.set_class(not tests, "-none")
        if not tests:
            self.query_one(".summary", Static).update(Content.styled(_silence(run), words.MUTED))
        elif tests != self._tests:
            self.query_one(".summary", Static).update(_summary(tests))
        if tests != self._tests:
            self._tests = tests
            listed.put(tests)

    def action_edit(self) -> None:
        """Open the first place that the selected check names; with none, the key is another's."""
        test, home = self.query_one(TestList).selected, self.query_one(TextPane).log_view.home
        text = uncolored(test.said) if test else ""
        place = next(places(text, home), None) if home else None
        if place is None:
            raise SkipAction
        self.post_message(LogView.PlaceWanted(*place[2:]))

    @on(LineList.Moved)
    def _moved(self, event: LineList.Moved) -> None:
        event.stop()
        test = self.query_one(TestList).selected
        if test is None or test is self._told:
            return
        self._told = test
        lines = LiveLines()
        lines.append(_in_full(test))
        self.query_one(TextPane).show(lines, silence=Content())


def _in_full(test: Test) -> str:
    took = f"  {_DIM}{words.seconds(test.seconds)}{_PLAIN}" if test.seconds is not None else ""
    message = test.said or f"{_DIM}It said nothing.{_PLAIN}"
    return f"{_BOLD}{test.full_name}{_PLAIN}{took}\n\n{message}\n"


def _silence(run: Run | None) -> str:
    if run is None or run.state != "ended":
        return "The tests are listed when the verifier has ended."
    if run.did_without("verifier"):
        return "No test ran: the run ended before its verifier began."
    return (
        "The verifier named no tests: it left no CTRF or JUnit report that can be read, "
        "and no summary by pytest."
    )


def _summary(tests: tuple[Test, ...]) -> Content:
    counts = Counter(test.status for test in tests)
    parts = [
        (
            f"{words.TESTS[status].sign} {counts[status]} {words.TESTS[status].word}   ",
            words.TESTS[status].color,
        )
        for status in ORDER
        if counts[status]
    ]
    timed = [test.seconds for test in tests if test.seconds is not None]
    return Content.assemble(*parts, (words.seconds(sum(timed)) if timed else "", words.MUTED))
