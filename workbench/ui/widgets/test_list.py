"""The verifier's checks by name, failures first."""

from __future__ import annotations

from textual.content import Content

from workbench.trials.outcome import Test, TestStatus
from workbench.ui import words
from workbench.ui.visible import one_line
from workbench.ui.widgets.line_list import LineList

ORDER: tuple[TestStatus, ...] = ("error", "failed", "skipped", "passed")


class TestList(LineList):
    """Checks, one line each, with the first line of its message."""

    __test__ = False

    def __init__(self) -> None:
        super().__init__("test-list")
        self._tests: list[Test] = []

    @property
    def selected(self) -> Test | None:
        """The selected check."""
        return self._tests[self.cursor] if self._tests else None

    def put(self, tests: tuple[Test, ...]) -> None:
        """Show checks."""
        self._tests = sorted(tests, key=lambda test: ORDER.index(test.status))
        self.show(len(self._tests), lambda index: _line(self._tests[index]))


def _line(test: Test) -> Content:
    mark = words.TESTS[test.status]
    said = words.beginning(test)
    return Content.assemble(
        (f"{mark.sign} {mark.word:<8}", mark.color),
        (f"{one_line(test.step)}: " if test.step else "", words.MUTED),
        one_line(test.name),
        (f"  {words.seconds(test.seconds)}" if test.seconds is not None else "", words.MUTED),
        (f"  ↻ tried {test.reruns + 1} times" if test.reruns else "", words.WARN),
        (f"  {said}" if said else "", words.MUTED),
    )
