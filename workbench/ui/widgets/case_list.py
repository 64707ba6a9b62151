"""The cases of a task: what each has to come to, and what it came to."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static
from textual.widgets.option_list import Option

from workbench.session import CaseView, Run, TaskView
from workbench.trials.outcome import PhaseName
from workbench.ui import words
from workbench.ui.case_order import ONLY, ORDERS, Only, Order, arranged
from workbench.ui.commands import key_shown
from workbench.ui.drawing import entitle, put
from workbench.ui.origin import DIFFERED, SLOWER, origins, slower_words
from workbench.ui.progress import expected_seconds, seconds_left
from workbench.ui.screen_commands import CASES, MAIN
from workbench.ui.shortened import room_needed, shortened
from workbench.ui.visible import one_line
from workbench.ui.widgets.choice_list import ChoiceList

_BAR = 12
_LEAST_WHY = 12
"""Cells below which a reason is left out rather than cut to nothing."""
_MORE_TELLING = 6
"""Cells that make a word of the character which tells a name from others."""
_NONE: dict[Only, str] = {
    "all": "There is no case",
    "not as they must": "Every case is as it must be",
    "running": "No case runs",
}
"""What stands where no case is to be listed."""
_LEAST_OUTCOME = 10
"""Cells of a word and a sign or two."""
_TICKS = 4
"""In a second."""
_BARRED: tuple[PhaseName, ...] = ("environment", "agent", "verifier")


@dataclass(frozen=True)
class Columns:
    """How wide each column is, in cells; 0 leaves it out."""

    name: int
    must: int
    reward: int
    outcome: int
    bar: int
    time: int

    @classmethod
    def fit(cls, width: int, longest: int, telling: int = 0) -> Columns:
        """Columns for a width, the least needed ones left out first.

        Args:
            longest: Cells of the longest case name.
            telling: Cells in which the beginning of every name tells it from the others.
        """
        usual = width // 3
        name = max(8, min(longest, usual if telling <= usual else min(telling + _MORE_TELLING, width // 2)))
        must, bar = (4 if width >= 46 else 0), (_BAR if width >= 58 else 0)
        reward, time = 6, 7

        def outcome() -> int:
            gaps = 2 * sum(column > 0 for column in (must, reward, bar, time)) + 2
            return width - 2 - name - must - reward - bar - time - gaps

        if outcome() < _LEAST_OUTCOME:
            must = 0
        if outcome() < _LEAST_OUTCOME and name > usual:
            bar = 0
        if outcome() < _LEAST_OUTCOME and name > usual:
            time = 0
        return cls(name, must, reward, max(6, outcome()), bar, time)


class Cases(ChoiceList):
    """The rows."""

    _quiet = False

    @contextmanager
    def quietly(self) -> Iterator[None]:
        """Change the rows without telling which one is selected meanwhile."""
        self._quiet = True
        try:
            yield
        finally:
            self._quiet = False

    def watch_highlighted(self, highlighted: int | None) -> None:
        """Tell at once."""
        super().watch_highlighted(highlighted)
        if not self._quiet and isinstance(self.parent, CaseList):
            self.parent.tell_selected()


class CaseList(Vertical):
    """A table of cases, one row each, under its headings."""

    OFFER = CASES
    BINDINGS = CASES.bindings()

    def __init__(self, on_selected: Callable[[], None], order: str = "", only: str = "") -> None:
        """
        Args:
            on_selected: Called when another case is the selected one. Not a message, which other work may
                come between: so the rows and what they select are drawn in one go.
            order: In which order the cases are listed at first; one that is not known is as none.
            only: Which cases are listed at first, likewise.
        """
        super().__init__()
        self._on_selected = on_selected
        self._told: str | None = None
        """The case that was told to be the selected one."""
        self._hint = Content()
        self._order: Order = next((one for one in ORDERS if one == order), "as found")
        self._only: Only = next((one for one in ONLY if one == only), "all")
        self._view: TaskView | None = None
        self._now = 0.0
        self._rows: dict[str, tuple[object, ...]] = {}
        """What each row was made from, to leave alone those that are the same."""
        self._columns: Columns | None = None
        self._names: dict[str, str] = {}
        """By name: what there is room for of it."""
        self._marked: frozenset[str] = frozenset()
        """The cases that have a marked run."""
        self._differed: frozenset[str] = frozenset()
        """The cases whose whole trial came out otherwise than a re-verification."""

    def compose(self) -> ComposeResult:
        """The headings, the rows, and what stands there while there are none."""
        yield Static(id="case-headings")
        yield Cases(id="case-rows")
        yield Static(id="case-hint", classes="hint")

    def on_mount(self) -> None:
        """Name the pane."""
        self._entitle(0)

    @property
    def selected(self) -> str | None:
        """The name of the selected case."""
        option = self.query_one(Cases).highlighted_option
        return option.id if option else None

    @property
    def arrangement(self) -> tuple[Order, Only]:
        """In which order cases are listed, and which of them."""
        return self._order, self._only

    def select_listed(self, name: str) -> bool:
        """Make a case the selected one if it is listed; whether any is."""
        self._highlight(name)
        return bool(self._rows)

    def select(self, name: str) -> None:
        """Make a case the selected one, listed or not; an unknown name changes nothing."""
        if self._view and name in self._view.cases and name not in self._rows:
            self._only = "all"
            self._arrange()
        self._highlight(name)

    def _highlight(self, name: str) -> None:
        if name in self._rows:
            rows = self.query_one(Cases)
            rows.highlighted = rows.get_option_index(name)

    def show(
        self, task: TaskView | None, hint: Content, now: float, marked: frozenset[str] = frozenset()
    ) -> None:
        """Show a task's cases as they stand.

        Args:
            hint: What to say while there are no cases.
            now: Unix seconds, for what runs.
            marked: The cases that have a marked run.
        """
        self._view, self._now, self._marked, self._hint = task, now, marked, hint
        views = arranged(task.cases.values(), self._order, self._only) if task else []
        self._entitle(len(views))
        if task and task.cases and not views:
            hint = Content(f"{_NONE[self._only]}: {key_shown(self.app, CASES['cases.only'])} lists others.")
        self._let_focus(bool(views))
        self.set_class(hint.cell_length > 0, "-hinted")
        put(self.query_one("#case-hint", Static), hint)
        rows = self.query_one(Cases)
        names = [view.case.name for view in views]
        # A blank at either side, and one more for the scrollbar.
        width, lines = self.content_size.width - 3, frozenset(map(one_line, names))
        columns = Columns.fit(width, max(map(cell_len, lines), default=0), room_needed(lines))
        self._names = shortened(lines, columns.name)
        scale = max((_length(run, _tick(now)) for view in views if (run := _timed(view))), default=0.0)
        self._differed = frozenset(task.differed) if task else frozenset()
        if names != list(self._rows) or columns != self._columns:
            self._columns = columns
            self._replace(views, columns, scale)
            return
        for view in views:
            notes = self._notes(view)
            key = _key(view, notes, scale, now)
            if self._rows[view.case.name] != key:
                self._rows[view.case.name] = key
                rows.rewrite(view.case.name, self._row(view, notes, columns, scale))

    def _let_focus(self, listed: bool) -> None:
        """Let the rows have the focus, or where there are none this, so that its keys still work."""
        had = self.has_focus_within
        self.can_focus = not listed
        self.set_class(not listed, "-empty")
        if had:
            self.enter()

    def enter(self) -> None:
        """Give the focus to what can have it here."""
        self.screen.set_focus(self if self.can_focus else self.query_one(Cases))

    def on_resize(self) -> None:
        """Fit the columns again."""
        self._arrange()

    def action_order(self) -> None:
        """List the cases in another order."""
        self._order = ORDERS[(ORDERS.index(self._order) + 1) % len(ORDERS)]
        self._arrange(self._order)

    def action_only(self) -> None:
        """List other cases only."""
        self._only = ONLY[(ONLY.index(self._only) + 1) % len(ONLY)]
        self._arrange(self._only)

    def _arrange(self, said: str = "") -> None:
        if self._view and self._view.cases:
            self.show(self._view, self._hint, self._now, self._marked)
        if said and self.screen.has_class("-tiny"):  # which has no border for a title
            self.notify(f"Cases: {said}.")

    def _entitle(self, listed: int) -> None:
        said: list[str] = [self._order] if self._order != "as found" else []
        if self._only != "all" and self._view:
            said.append(f"only {self._only}: {listed} of {len(self._view.cases)}")
        name = f"{key_shown(self.app, MAIN['pane.cases'])} Cases"
        entitle(self, " · ".join([name, *said]))

    def _replace(self, views: list[CaseView], columns: Columns, scale: float) -> None:
        rows = self.query_one(Cases)
        before, at = self._told, rows.highlighted
        self._told = None
        self._rows = {view.case.name: _key(view, self._notes(view), scale, self._now) for view in views}
        self.query_one("#case-headings", Static).update(_headings(columns))
        with rows.quietly():
            rows.set_options(
                Option(self._row(view, self._notes(view), columns, scale), id=view.case.name)
                for view in views
            )
            if views:
                # Where the selected case is gone, the one that came to its place.
                rows.highlighted = min(at or 0, len(views) - 1)
                self._highlight(before or "")
        self._told = before
        self.tell_selected()

    def _row(self, view: CaseView, notes: tuple[words.Mark, ...], columns: Columns, scale: float) -> Content:
        name = self._names[one_line(view.case.name)]
        return _row(view, name, notes, columns, scale, self._now)

    def _notes(self, view: CaseView) -> tuple[words.Mark, ...]:
        """What else there is to say of how a case stands, in the order of its weight."""
        run, now = _timed(view), self._now
        notes = [words.MARKED] if view.case.name in self._marked else []
        notes += [DIFFERED] if view.case.name in self._differed else []
        if run:
            notes += origins(run, now)
            notes += [SLOWER] if run.slower else []
            if left := seconds_left(run, now):
                notes.append(words.Mark("", f"~{words.seconds(left)} left", words.MUTED))
        if view.current and view.current.state == "queued" and view.decided and not view.stale:
            notes.append(words.WAITING)
        return tuple(notes)

    def tell_selected(self) -> None:
        """Tell that another case is the selected one, if it is."""
        if self.selected and self.selected != self._told:
            self._told = self.selected
            self._on_selected()


def _timed(view: CaseView) -> Run | None:
    return view.current if view.current and view.current.state == "running" else view.decided


def _tick(now: float) -> float:
    """The time as often as rows are written anew for it: it makes longer what all of them are measured by."""
    return math.floor(now * _TICKS) / _TICKS


def _length(run: Run, now: float) -> float:
    """Seconds that a run took, or is likely to take."""
    return max(words.elapsed(run, now), expected_seconds(run) if run.state == "running" else 0.0)


def _key(view: CaseView, notes: tuple[words.Mark, ...], scale: float, now: float) -> tuple[object, ...]:
    run = view.current
    running = run is not None and run.state == "running"
    return (
        view.case,
        view.stale,
        notes,
        run and (run.id, run.state, len(run.phases)),
        len(view.runs),
        run and id(run.outcome),
        scale,
        _tick(now) if running else 0,
    )


def _headings(columns: Columns) -> Content:
    cells = [Content("  "), Content("case").pad_right(columns.name - 4)]
    if columns.must:
        cells.append(_cell("must", columns.must))
    cells += [_cell("reward", columns.reward), _cell("outcome", columns.outcome)]
    if columns.bar:
        cells.append(_cell("env agt ver", columns.bar))
    cells.append(_cell("time", columns.time, right=True))
    return Content("  ").join(cells[1:]).stylize(words.MUTED).pad_left(2)


def _row(
    view: CaseView, name: str, notes: tuple[words.Mark, ...], columns: Columns, scale: float, now: float
) -> Content:
    mark = words.case_mark(view, now)
    run = _timed(view)
    reward = _reward(view, run)
    cells = [_cell(name, columns.name, "bold" if mark.color == words.BAD else "")]
    if columns.must:
        cells.append(_cell(view.case.expect or "–", columns.must, words.MUTED))
    cells.append(_cell(reward, columns.reward))
    cells.append(_outcome(view, mark, notes, columns.outcome))
    if columns.bar:
        cells.append(_bar(run, columns.bar, scale, now) if run else Content.blank(columns.bar))
    took = words.elapsed(run, now) if run else 0.0
    cells.append(_cell(words.seconds(took) if took else "", columns.time, words.MUTED, right=True))
    return Content.assemble((mark.sign, mark.color), " ", Content("  ").join(cells))


def _reward(view: CaseView, run: Run | None) -> str:
    """The reward that a row tells, which is the mean where it speaks of all runs."""
    if run is None or run.outcome is None:
        return ""
    if words.speaks_of_all(view):
        known = [one.outcome.reward for one in view.runs if one.outcome and one.outcome.reward is not None]
        return words.reward(sum(known) / len(known) if known else None)
    return words.reward(run.outcome.reward)


def _outcome(view: CaseView, mark: words.Mark, notes: tuple[words.Mark, ...], width: int) -> Content:
    """The word for how a case stands, what else there is to say, and why, as far as there is room."""
    run = view.current
    room = width - len(mark.word)
    said = [f" {note.sign} {note.word}".replace("  ", " ") for note in notes]
    for at in reversed(range(len(notes))):
        if sum(map(len, said)) > room:  # the sign alone, of the least important first
            said[at] = f" {notes[at].sign}" if notes[at].sign else ""
    parts = [(mark.word, mark.color)]
    parts += [(text, note.color) for text, note in zip(said, notes, strict=True)]
    why = ""
    if run and run.outcome:
        slower = f"{SLOWER.word}: {slower_words(run.slower)}" if run.slower else ""
        why = f"stale: {one_line(view.stale)}" if view.stale else slower or words.reason(run.outcome)
    content = Content.assemble(*parts)
    if why and width >= content.cell_length + _LEAST_WHY:
        content = Content.assemble(content, (f"  {why}", words.MUTED))
    content = content.truncate(width, ellipsis=True)
    return content.pad_right(max(0, width - content.cell_length))


def _bar(run: Run, width: int, scale: float, now: float) -> Content:
    """The phases of a run as one bar, on a scale that all rows share, and what is expected of it yet."""
    parts: list[tuple[str, str]] = []
    cells = 0
    total = 0.0
    for phase in run.phases:
        total += max(0.0, (phase.ended_at or now) - phase.started_at)
        if phase.name in _BARRED and scale > 0:
            mark = words.PHASES[phase.name]
            upto = round(width * min(1.0, total / scale))
            parts.append((mark.sign * (upto - cells), mark.color))
            cells = max(cells, upto)
    if run.state == "running" and scale > 0:
        upto = round(width * min(1.0, expected_seconds(run) / scale))
        parts.append(("╌" * (upto - cells), words.MUTED))
        cells = max(cells, upto)
    return Content.assemble(*parts).pad_right(max(0, width - cells))


def _cell(text: str, width: int, style: str = "", *, right: bool = False) -> Content:
    content = Content.styled(text, style).truncate(width, ellipsis=True)
    pad = max(0, width - content.cell_length)
    return content.pad_left(pad) if right else content.pad_right(pad)
