"""Live trials: one case, many times, as cards that move to their place when they end."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from textual import on
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from workbench import wishes
from workbench.session import Run, Session, TaskView
from workbench.ui import words
from workbench.ui.base_app import BaseApp
from workbench.ui.commands import is_offered, key_shown
from workbench.ui.drawing import put
from workbench.ui.figures import count, memory
from workbench.ui.messages import Wished
from workbench.ui.overlay_commands import GRID
from workbench.ui.screens.live import LiveScreen
from workbench.ui.trials import Tally, tally, trials
from workbench.ui.visible import one_line, visible
from workbench.ui.widgets.key_bar import KeyBar
from workbench.ui.widgets.trial_board import TrialBoard

_BETWEEN = "   "
TIMES = 16
"""How often a case is repeated at the press of a key."""


class GridScreen(LiveScreen[None]):
    """The trials of one case.

    Attributes:
        presenting: Whether to show fewer words in larger letters.
    """

    CSS_PATH = "grid.tcss"
    OFFER = GRID
    BINDINGS = GRID.bindings()

    def __init__(
        self,
        session: Session,
        task: str,
        case: str,
        clock: Callable[[], float],
        look_at: Callable[[str, str], None],
        *,
        times: int,
    ) -> None:
        """
        Args:
            task: The task's absolute directory.
            clock: Tells Unix seconds.
            look_at: Called with the case and the run that the user wants to look at.
            times: How many more trials a key starts.
        """
        super().__init__()
        self._session = session
        self._path = task
        self._case = case
        self._clock = clock
        self._look_at = look_at
        self._times = times
        self.presenting = False

    def compose(self) -> ComposeResult:
        """What it is, the board, and what all come to together."""
        yield Static(id="grid-title")
        yield Static(id="grid-totals")
        with VerticalScroll(id="board-scroll", can_focus=False):
            yield TrialBoard()
        yield from cast(BaseApp, self.app).bars()
        yield KeyBar()

    def on_mount(self) -> None:
        """Begin with what is known."""
        self.set_class(self.presenting, "-presenting")
        self.refresh_views()
        self.set_focus(self.query_one(TrialBoard))
        self.call_after_refresh(self.refresh_views)

    @property
    def _view(self) -> TaskView:
        return self._session.task(self._path)

    @property
    def _must_fail(self) -> bool:
        view = self._view.cases.get(self._case)
        return bool(view and view.case.expect == "fail")

    @property
    def _runs(self) -> list[Run]:
        view = self._view.cases.get(self._case)
        return view.runs if view else []

    def refresh_views(self) -> None:
        """Show the trials as they stand."""
        now, runs = self._clock(), self._runs
        together = tally(runs, now)
        put(self.query_one("#grid-title", Static), self._title())
        totals = (_large_totals if self.presenting else _totals)(together, self._must_fail)
        shown = self.query_one("#grid-totals", Static)
        put(shown, _flowing(totals, shown.content_size.width) if together.total else self._none())
        self.query_one(TrialBoard).show(trials(runs), now, large=self.presenting)

    def _title(self) -> Content:
        provider = self._session.provider
        parts = [one_line(self._view.name)] if not self.presenting else []
        parts += [one_line(provider.label)] if provider else []
        said = Content.assemble((f" {one_line(self._case)}", "bold $accent"))
        lost = (" · ○ no engine", words.WARN) if self._session.stopped else ""
        return Content.assemble(said, (" · ".join(["", *parts]), words.MUTED), lost)

    def _none(self) -> Content:
        if self._session.stopped:
            return Content.styled(" The engine has ended.", words.MUTED)
        if self._view.unreadable:
            return Content.styled(f" The task cannot be run: {visible(self._view.unreadable)}", words.BAD)
        if self._view.opened is None:
            return Content.styled(" Reading the task ...", words.MUTED)
        if self._case not in self._view.cases:
            return Content.styled(f" There is no case {one_line(self._case)}.", words.MUTED)
        if not is_offered(self.app, "grid.repeat"):
            return Content.styled(" No trial is known.", words.MUTED)
        key = key_shown(self.app, GRID["grid.repeat"])
        return Content.styled(f" No trial yet. {key} runs {self._times} of them.", words.MUTED)

    def action_repeat(self) -> None:
        """Run the case several times more."""
        self.post_message(Wished(wishes.Repeat(task=self._path, case=self._case, times=self._times)))

    def action_cancel(self) -> None:
        """Cancel every trial of the case that runs or waits."""
        for run in self._runs:
            if run.state != "ended":
                self.post_message(Wished(wishes.Cancel(task=self._path, run=run.id)))

    def action_present(self) -> None:
        """Larger rows and fewer words, or as before."""
        self.presenting = not self.presenting
        self.set_class(self.presenting, "-presenting")
        self.refresh_views()
        self.call_after_refresh(self.refresh_views)

    @on(TrialBoard.Chosen)
    def _chosen(self, event: TrialBoard.Chosen) -> None:
        event.stop()
        self._look_at(self._case, event.run)
        self.dismiss()


def _totals(together: Tally, must_fail: bool) -> list[Content]:
    parts = [Content.assemble((f"{together.done} of {together.total}", "bold"), " done")]
    for sign, number, word, color in _kinds(together, must_fail):
        parts.append(Content.styled(f"{sign} {number} {word}", color))
    parts.append(Content(f"{together.running} running"))
    parts.append(Content.styled(f"{together.waiting} waiting", words.MUTED))
    if together.median is not None and together.p95 is not None:
        parts.append(Content.assemble("median ", (words.seconds(together.median), "bold")))
        parts.append(Content.assemble("95th percentile ", (words.seconds(together.p95), "bold")))
    if together.memory:
        parts.append(Content(f"{count(together.running, 'machine')}, {memory(together.memory)}"))
    if together.seconds:
        took = f"{words.seconds(together.seconds)} for {words.seconds(together.busy)} of trials"
        parts.append(Content.styled(took, words.MUTED))
    return parts


def _large_totals(together: Tally, must_fail: bool) -> list[Content]:
    parts = [Content(f"{together.done} / {together.total}")]
    for sign, number, _, color in _kinds(together, must_fail):
        parts.append(Content.styled(f"{sign} {number}", color))
    if together.median is not None and together.p95 is not None:
        parts.append(Content(f"median {words.seconds(together.median)}"))
        parts.append(Content(f"p95 {words.seconds(together.p95)}"))
    if together.memory:
        parts.append(Content(memory(together.memory)))
    return parts


def _kinds(together: Tally, must_fail: bool) -> list[tuple[str, int, str, str]]:
    """Sign, number, word and colour of what must be, of what must not be, and of what is neither."""
    passed, failed = (together.passed, "passed"), (together.failed, "failed")
    good, bad = (failed, passed) if must_fail else (passed, failed)
    kinds = [
        ("✓", *good, words.OK if good[0] else words.MUTED),
        ("✗", *bad, words.BAD if bad[0] else words.MUTED),
    ]
    return [*kinds, ("!", together.other, "neither", words.WARN)] if together.other else kinds


def _flowing(parts: list[Content], room: int) -> Content:
    """Parts in a line, and on in another where there is no more room."""
    lines: list[Content] = []
    for part in parts:
        if lines and lines[-1].cell_length + len(_BETWEEN) + part.cell_length <= room:
            lines[-1] = Content.assemble(lines[-1], _BETWEEN, part)
        else:
            lines.append(Content.assemble(" ", part))
    return Content("\n").join(lines)
