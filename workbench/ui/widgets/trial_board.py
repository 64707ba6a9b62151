"""Trials as cards on a board: those that run, large, over those that ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual import events
from textual.content import Content
from textual.message import Message
from textual.renderables.digits import DIGITS, DIGITS3X3_BOLD
from textual.widgets import Static

from workbench.session import Run
from workbench.ui import words
from workbench.ui.drawing import put
from workbench.ui.figures import memory
from workbench.ui.overlay_commands import BOARD
from workbench.ui.progress import expected_seconds
from workbench.ui.trials import Trial, last_line

_CARD, _LARGE_CARD = 38, 24
"""Cells that a card takes at the least."""
_BAR = 14
_GAP = 3
"""Between cards side by side."""
_DIGIT = 3


@dataclass(frozen=True)
class _Cell:
    """Where a card is."""

    run: str
    row: int
    """Of cards, not of lines."""
    left: int
    right: int
    top: int
    bottom: int


class TrialBoard(Static, can_focus=True):
    """The cards. Wherever there is room for several, they stand side by side."""

    OFFER = BOARD
    BINDINGS = BOARD.bindings()

    @dataclass
    class Chosen(Message):
        """The user wants to look at a trial."""

        run: str

    def __init__(self) -> None:
        super().__init__()
        self._cells: list[_Cell] = []
        self._selected = ""
        self._shown: tuple[Sequence[Trial], float, bool] = ((), 0.0, False)

    def show(self, trials: Sequence[Trial], now: float, *, large: bool = False) -> None:
        """Show trials as they stand.

        Args:
            now: Unix seconds.
            large: Fewer words in larger letters.
        """
        self._shown = (trials, now, large)
        put(self, self._drawn(trials, now, large=large))

    def on_resize(self) -> None:
        """Fit the cards again."""
        trials, now, large = self._shown
        self.call_after_refresh(self.show, trials, now, large=large)

    def _drawn(self, trials: Sequence[Trial], now: float, *, large: bool) -> Content:
        room = self.content_size.width
        columns = max(1, room // (_LARGE_CARD if large else _CARD))
        width = max(1, room // columns)
        scale = max((_length(trial.run, now) for trial in trials), default=0.0)
        self._cells = []
        lines: list[Content] = []
        running = [trial for trial in trials if trial.run.state == "running"]
        ended = [trial for trial in trials if trial.run.state == "ended"]
        for group in (running, ended):
            if group and lines and not large:
                lines.append(Content())
            for start in range(0, len(group), columns):
                row = group[start : start + columns]
                cards = [(_large_card if large else _card)(trial, width - _GAP, scale, now) for trial in row]
                self._place(row, width, len(lines), len(cards[0]))
                cards = [
                    _marked(card) if trial.run.id == self._selected else card
                    for trial, card in zip(row, cards, strict=True)
                ]
                lines += [Content(" " * _GAP).join(parts) for parts in zip(*cards, strict=True)]
        return Content("\n").join(lines)

    def _place(self, row: Sequence[Trial], width: int, top: int, height: int) -> None:
        number = self._cells[-1].row + 1 if self._cells else 0
        self._cells += [
            _Cell(trial.run.id, number, at * width, (at + 1) * width, top, top + height)
            for at, trial in enumerate(row)
        ]

    def on_click(self, event: events.Click) -> None:
        """Select the trial under the mouse, and with a second click look at it."""
        hit = next(
            (
                cell
                for cell in self._cells
                if cell.left <= event.x < cell.right and cell.top <= event.y < cell.bottom
            ),
            None,
        )
        if hit:
            self._select(hit.run)
            if event.chain > 1:
                self.action_choose()

    def action_move(self, right: int, down: int) -> None:
        """Select a trial beside, above or below the selected one."""
        at = next((at for at, cell in enumerate(self._cells) if cell.run == self._selected), None)
        if not self._cells:
            return
        if at is None:
            self._select(self._cells[0].run)
        elif right:
            self._select(self._cells[max(0, min(at + right, len(self._cells) - 1))].run)
        else:
            here = self._cells[at]
            there = [cell for cell in self._cells if cell.row == here.row + down]
            if there:
                self._select(min(there, key=lambda cell: abs(cell.left - here.left)).run)

    def action_choose(self) -> None:
        """Look at the selected trial, at the first where none is."""
        known = [cell.run for cell in self._cells]
        if known:
            self.post_message(self.Chosen(self._selected if self._selected in known else known[0]))

    def _select(self, run: str) -> None:
        self._selected = run
        trials, now, large = self._shown
        self.show(trials, now, large=large)
        cell = next(cell for cell in self._cells if cell.run == run)
        self.screen.query_one("#board-scroll").scroll_to(y=max(0, cell.top - 2), animate=False)


def _card(trial: Trial, width: int, scale: float, now: float) -> list[Content]:
    run = trial.run
    mark = words.run_mark(run, now)
    number = (f"{trial.number:>3} ", words.MUTED)
    took = words.seconds(words.elapsed(run, now))
    if run.state == "ended":
        reward = words.reward(run.outcome.reward) if run.outcome else ""
        left = Content.assemble((f"{mark.sign} ", mark.color), number, (f"{mark.word} ", mark.color), reward)
        room = max(0, width - left.cell_length - len(took) - 2)
        bar = _fitted(_bar(run, min(_BAR, room), scale, now), min(_BAR, room))
        return [_between(left, Content.assemble(bar, " ", (took, words.MUTED)), width)]
    head = Content.assemble((f"{mark.sign} ", mark.color), number, (mark.word, mark.color))
    bar = _bar(run, max(0, width - 16), scale, now)
    size = (memory(run.memory_bytes) if run.memory_bytes else "", words.MUTED)
    return [
        _between(head, Content.styled(took, "bold"), width),
        _between(Content.assemble("      ", bar), Content.assemble(size), width),
        _fitted(Content.assemble("      ", (last_line(run), words.MUTED)), width),
    ]


def _large_card(trial: Trial, width: int, scale: float, now: float) -> list[Content]:
    run = trial.run
    mark = words.run_mark(run, now)
    head = Content.assemble(
        (f" {mark.sign} {mark.word.upper()}", f"bold {mark.color}".strip()),
        (f"  {trial.number}", words.MUTED),
    )
    color = mark.color if run.state == "ended" else words.PLAIN
    digits = [Content.styled(f" {line}", color) for line in _large(f"{words.elapsed(run, now):.1f}")]
    bar = Content.assemble(" ", _bar(run, width - 2, scale, now))
    return [_fitted(line, width) for line in (head, *digits, bar, Content())]


def _large(figure: str) -> list[str]:
    """A figure in digits three lines high; what is no digit stands on the last."""
    lines = [""] * _DIGIT
    for character in figure:
        at = DIGITS.find(character) * _DIGIT
        for line in range(_DIGIT):
            known = DIGITS3X3_BOLD[at + line].ljust(_DIGIT)
            lines[line] += known if at >= 0 else character if line == _DIGIT - 1 else " "
    return lines


def _bar(run: Run, width: int, scale: float, now: float) -> Content:
    """The phases of a run, on a scale that all cards share, and what is expected of it yet."""
    if scale <= 0 or width <= 0:
        return Content()
    parts: list[tuple[str, str]] = []
    cells, total = 0, 0.0
    for phase in run.phases:
        total += max(0.0, (now if phase.ended_at is None else phase.ended_at) - phase.started_at)
        mark = words.PHASES[phase.name]
        upto = round(width * min(1.0, total / scale))
        parts.append((mark.sign * (upto - cells), mark.color))
        cells = max(cells, upto)
    end = round(width * min(1.0, _length(run, now) / scale)) if run.state == "running" else 0
    left = end - cells
    return Content.assemble(*parts, ("╌" * max(0, left), words.MUTED))


def _length(run: Run, now: float) -> float:
    """Seconds that a run took, or is likely to take."""
    return max(words.elapsed(run, now), expected_seconds(run) if run.state == "running" else 0.0)


def _marked(card: list[Content]) -> list[Content]:
    return [line.stylize("reverse") for line in card]


def _between(left: Content, right: Content, width: int) -> Content:
    left = left.truncate(max(0, width - right.cell_length - 1), ellipsis=True)
    return Content.assemble(left, " " * (width - left.cell_length - right.cell_length), right)


def _fitted(line: Content, width: int) -> Content:
    line = line.truncate(width, ellipsis=True)
    return line.pad_right(width - line.cell_length)
