"""The verifier's checks by name, failures first."""

from __future__ import annotations

from collections import Counter

from textual.content import Content
from textual.widgets.option_list import Option

from workbench.session import Run
from workbench.trials.outcome import Test, TestStatus
from workbench.ui import words
from workbench.ui.visible import one_line, visible
from workbench.ui.widgets.choice_list import ChoiceList

_SHOWN = 500
_MESSAGE_LINES = 12
_MESSAGE_CHARACTERS = 2000
_ORDER: tuple[TestStatus, ...] = ("error", "failed", "skipped", "passed")


class TestList(ChoiceList):
    """Checks, each with its message and duration."""

    __test__ = False

    def __init__(self) -> None:
        super().__init__()
        self._tests: tuple[Test, ...] | None = None

    def show(self, run: Run | None) -> None:
        """Show a run's checks."""
        tests = run.outcome.tests if run and run.outcome else ()
        if tests and tests == self._tests:
            return
        self._tests = tests
        if not tests:
            self.set_options([Option(Content.styled(_silence(run), words.MUTED), disabled=True)])
            return
        ordered = sorted(tests, key=lambda test: _ORDER.index(test.status))
        options = [Option(_summary(tests), disabled=True)]
        options += [Option(_prompt(test)) for test in ordered[:_SHOWN]]
        if (more := len(tests) - _SHOWN) > 0:
            options.append(Option(Content.styled(f"... and {more:,} more", words.MUTED), disabled=True))
        self.set_options(options)
        self.highlighted = 1


def _silence(run: Run | None) -> str:
    if run is None or run.state != "ended":
        return "The tests are listed when the verifier has ended."
    if run.phases and not any(phase.name == "verifier" for phase in run.phases):
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
        for status in _ORDER
        if counts[status]
    ]
    timed = [test.seconds for test in tests if test.seconds is not None]
    return Content.assemble(*parts, (words.seconds(sum(timed)) if timed else "", words.MUTED))


def _prompt(test: Test) -> Content:
    mark = words.TESTS[test.status]
    parts: list[str | tuple[str, str]] = [
        (f"{mark.sign} {mark.word:<8}", mark.color),
        one_line(test.name),
        (f"  {words.seconds(test.seconds)}" if test.seconds is not None else "", words.MUTED),
        (f"  ↻ tried {test.reruns + 1} times" if test.reruns else "", words.WARN),
    ]
    lines = test.message[:_MESSAGE_CHARACTERS].strip().split("\n")
    for line in lines[:_MESSAGE_LINES] if lines != [""] else ():
        parts.append((f"\n    {visible(line)}", words.MUTED))
    if len(lines) > _MESSAGE_LINES or len(test.message) > _MESSAGE_CHARACTERS:
        parts.append(("\n    ...", words.MUTED))
    return Content.assemble(*parts)
