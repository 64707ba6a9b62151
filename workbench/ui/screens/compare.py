"""Two runs side by side: what they printed, tested, did and left, and how long it took."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import cast

from textual import on, work
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static, TabbedContent, TabPane, Tabs

from workbench.session import Run
from workbench.ui import words
from workbench.ui.base_app import BaseApp
from workbench.ui.compare.align import align, apart
from workbench.ui.compare.aligned_view import NEITHER, AlignedView, cells
from workbench.ui.compare.material import Matter, gone, lines, stamp, uncompared
from workbench.ui.compare.others import Seen, run_name, task_name
from workbench.ui.compare.tables import tests_beside, timing_beside
from workbench.ui.drawing import entitle, put
from workbench.ui.full_layout import FullLayout
from workbench.ui.origin import origins
from workbench.ui.screen_commands import COMPARE
from workbench.ui.shortened import shortened
from workbench.ui.widgets.key_bar import KeyBar
from workbench.ui.widgets.line_list import LineList
from workbench.ui.widgets.text_view import TextView

_ALIGNED: tuple[Matter, ...] = ("verifier", "agent", "trajectory", "files")
_TESTS = "compare-tests"
_LEAST_WIDTH = 100
"""Columns without which the two headlines do not stand beside each other."""
_MARK = len("  ✓ passed") + 1
"""Columns of what a name is not to push out of sight."""
_SAID = 46
"""Columns in which it is said that a run's lines are gone: each of two sides has as many."""
_LOOKED_AT = 1.0
"""Seconds between looks at runs that last."""

_TITLE = "Side by side · the left one is the baseline"


class CompareScreen(FullLayout[None]):
    """The left run is the baseline."""

    CSS_PATH = "compare.tcss"
    OFFER = COMPARE
    BINDINGS = COMPARE.bindings()

    def __init__(self, left: Seen, right: Seen, clock: Callable[[], float]) -> None:
        """
        Args:
            clock: Tells Unix seconds.
        """
        super().__init__()
        self._sides = (left, right)
        self._clock = clock
        self._stamps: dict[Matter, object] = {}
        self._tests: list[Content] | None = None
        """None before they are known."""

    def compose(self) -> ComposeResult:
        """Both headlines over the tabs."""
        yield Static(id="sides")
        with TabbedContent(id="compare-tabs"):
            for matter in _ALIGNED[:2]:
                with TabPane(matter, id=f"compare-{matter}"):
                    yield AlignedView()
            with TabPane("tests", id=_TESTS):
                yield LineList("compare-test-list")
            for matter in _ALIGNED[2:3]:
                with TabPane(matter, id=f"compare-{matter}"):
                    yield AlignedView()
            with TabPane("timing", id="compare-timing"):
                yield TextView()
            for matter in _ALIGNED[3:]:
                with TabPane(matter, id=f"compare-{matter}"):
                    yield AlignedView()
        yield from cast(BaseApp, self.app).bars()
        yield KeyBar()

    def on_mount(self) -> None:
        """Compare, and again while a run lasts."""
        self._refresh()
        self.set_interval(_LOOKED_AT, self._refresh)
        self.set_focus(self.query_one("#compare-verifier AlignedView"))

    def on_resize(self) -> None:
        """Fit both sides again."""
        self.call_after_refresh(self._refresh)

    def action_swap(self) -> None:
        """Make the right one the baseline."""
        self._sides = self._sides[::-1]
        self._stamps.clear()
        self._refresh()

    def action_tab(self, by: int) -> None:
        """Show another tab."""
        tabs = self.query_one(TabbedContent)
        names = [pane.id or "" for pane in tabs.query(TabPane)]
        tabs.active = names[(names.index(tabs.active) + by) % len(names)]

    def action_close(self) -> None:
        """Go back to the task."""
        self.dismiss()

    @on(TabbedContent.TabActivated)
    def _tab_shown(self) -> None:
        self.call_after_refresh(self._refresh)
        if (pane := self.query_one(TabbedContent).active_pane) and not isinstance(self.focused, Tabs):
            self.set_focus(next(iter(pane.query("AlignedView, LineList, TextView"))))

    @on(AlignedView.StateChanged)
    def _state_changed(self) -> None:
        self._show_state()

    def _refresh(self) -> None:
        if not self.is_mounted or not self.is_current:
            return
        now = self._clock()
        (_, _, left), (_, _, right) = self._sides
        put(self.query_one("#sides", Static), _headlines(self._sides, self.size.width - 2, now))
        match self.query_one(TabbedContent).active.removeprefix("compare-"):
            case "tests":
                self._show_tests(left, right)
            case "timing":
                view = self.query_one("#compare-timing TextView", TextView)
                ours, theirs = _names(self._sides)
                view.put(timing_beside(ours, left, theirs, right, view.room, now))
            case matter:
                self._compare(matter, left, right)  # type: ignore[arg-type]
        self._show_state()

    def _compare(self, matter: Matter, left: Run, right: Run) -> None:
        told = (stamp(left, matter), stamp(right, matter))
        if self._stamps.get(matter) != told:
            self._stamps[matter] = told
            self._align(matter, left, right, told)

    @work(thread=True)
    def _align(self, matter: Matter, left: Run, right: Run, told: object) -> None:
        ours, theirs = lines(left, matter), lines(right, matter)
        silence = (gone(left, matter, ours), gone(right, matter, theirs))
        ours, theirs = ours or _in_place(silence[0]), theirs or _in_place(silence[1])
        why = uncompared(*silence)
        rows = apart(ours, theirs) if why else align(ours, theirs)
        longest = max(map(cells, (*ours, *theirs)), default=0)

        def put() -> None:
            # What took longer than what was asked for after it comes too late.
            if self.is_attached and self._stamps.get(matter) == told:
                view = self.query_one(f"#compare-{matter} AlignedView", AlignedView)
                view.show(ours, theirs, rows, longest, why)
                self._show_state()

        self.app.call_from_thread(put)

    def _show_tests(self, left: Run, right: Run) -> None:
        rows = tests_beside(left.tests, right.tests)
        if rows != self._tests:
            self._tests = rows
            listed = self.query_one("#compare-test-list", LineList)
            listed.show(len(rows), lambda at: rows[at], listed.cursor)

    def _show_state(self) -> None:
        pane = self.query_one(TabbedContent).active_pane
        view = next(iter(pane.query(AlignedView)), None) if pane else None
        no_tests = pane is not None and pane.id == _TESTS and self._tests == []
        said = view.state if view else NEITHER if no_tests else ""
        entitle(self.query_one(TabbedContent), _TITLE, said)


def _in_place(said: str) -> list[str]:
    """What stands in place of lines, dimmed to be told from them."""
    return [f"\x1b[2m{line}\x1b[0m" for line in textwrap.wrap(said, _SAID)]


def _names(sides: tuple[Seen, Seen]) -> tuple[str, str]:
    left, right = (run_name(case, run) for _, case, run in sides)
    if sides[0][0].path != sides[1][0].path:
        return f"{task_name(sides[0][0])} · {left}", f"{task_name(sides[1][0])} · {right}"
    return left, right


def _headlines(sides: tuple[Seen, Seen], width: int, now: float) -> Content:
    half = (width - 3) // 2
    room = (width if width < _LEAST_WIDTH else half) - _MARK
    names = shortened(frozenset(_names(sides)), room)
    told = [_headline(names[name], side, now) for name, side in zip(_names(sides), sides, strict=True)]
    if width < _LEAST_WIDTH:
        return Content("\n").join(line.truncate(width, ellipsis=True) for line in told)
    left, right = (line.truncate(half, ellipsis=True) for line in told)
    return Content.assemble(left.pad_right(half - left.cell_length), " ", ("│", words.MUTED), " ", right)


def _headline(name: str, side: Seen, now: float) -> Content:
    _, case, run = side
    mark = words.run_mark(run, now)
    reason = f"  {words.reason(run.outcome)}" if run.outcome else ""
    set_apart = [part for one in origins(run, now) for part in ("  ", (f"{one.sign} {one.word}", one.color))]
    return Content.assemble(
        (name, "bold $accent"),
        "  ",
        (f"{mark.sign} {mark.word}", f"bold {mark.color}"),
        *set_apart,
        (f"  {words.expectation(case)}", words.MUTED),
        reason,
    )
