"""The time of all cases on one scale, and the phases of the selected run against its earlier ones."""

from __future__ import annotations

from textual.content import Content

from workbench.session import CaseView, Run, TaskView
from workbench.ui import earlier, words
from workbench.ui.compare.tables import bars
from workbench.ui.shortened import shortened
from workbench.ui.timing import is_slow, spans, sparkline, total, usual
from workbench.ui.visible import one_line
from workbench.ui.widgets.text_view import TextView

_TIME = 8
_HISTORY = 40
"""Past runs shown."""
_LEAST_WAIT = 0.1
_LEAST_BAR = 10


class TimingView(TextView):
    """A waterfall."""

    def show(self, task: TaskView, case: CaseView | None, run: Run | None, now: float) -> None:
        """Show where time went.

        Args:
            now: Unix seconds, for what runs.
        """
        shown = [(view, _shown(view, case, run)) for view in task.cases.values()]
        timed = [(view, its) for view, its in shown if its and its.phases]
        if not timed:
            self.put(Content.styled("Nothing has run yet.", words.MUTED))
            return
        lines = _waterfall(timed, case, self.room, now)
        if case and run and run.phases:
            before = earlier.before(task, case, run)
            lines += ["", *_phases(case, run, before, now), *_history(case, run, before, now)]
        self.put(Content("\n").join(lines))


def _shown(view: CaseView, case: CaseView | None, run: Run | None) -> Run | None:
    return run if case is view else view.current


def _waterfall(
    timed: list[tuple[CaseView, Run]], case: CaseView | None, room: int, now: float
) -> list[Content | str]:
    names = [one_line(view.case.name) for view, _ in timed]
    width = min(max(Content(name).cell_length for name in names), room // 3)
    bar = max(_LEAST_BAR, room - width - _TIME - 4)
    scale = max(total(run, now) for _, run in timed) or 1.0
    legend = [
        part
        for name in ("environment", "agent", "verifier")
        for part in (
            (f"{words.PHASES[name].sign * 2} ", words.PHASES[name].color),
            (f"{name}  ", words.MUTED),
        )
    ]
    lines: list[Content | str] = [Content.assemble(" " * (width + 2), *legend)]
    short = shortened(frozenset(names), width)
    for name, (view, run) in zip(names, timed, strict=True):
        label = Content.styled(short[name], "bold" if view is case else "")
        label = label.pad_right(width - label.cell_length)
        took = words.seconds(total(run, now)).rjust(_TIME)
        lines.append(Content.assemble(label, "  ", bars(spans(run, now), bar, scale), "  ", took))
    everything = sum(total(run, now) for _, run in timed)
    waited = sum(max(0.0, (run.started_at or run.queued_at) - run.queued_at) for _, run in timed)
    said = f"{'all together'.rjust(width)}  {words.seconds(everything)} of machine time"
    said += f", and {words.seconds(waited)} of waiting for a turn" if waited > _LEAST_WAIT else ""
    lines.append(Content.styled(said, words.MUTED))
    return lines


def _phases(case: CaseView, run: Run, before: list[Run], now: float) -> list[Content]:
    lines = [Content.styled(f"{one_line(case.case.name)}, phase by phase", "bold")]
    expected = {(one.phase, one.step): one.seconds for one in run.expected}
    for span in spans(run, now):
        if span.name is None:
            lines.append(
                Content.styled(f"  {'between phases':<22}{words.seconds(span.seconds):>8}", words.MUTED)
            )
            continue
        mark = words.PHASES[span.name]
        name = f"{span.name} {one_line(span.step)}".strip()
        usually = usual(before, span.name, span.step)
        if usually is None:
            usually = expected.get((span.name, span.step))
        parts: list[str | tuple[str, str]] = [
            (f"{mark.sign} {name:<22}", mark.color),
            f"{words.seconds(span.seconds):>8}",
            ("  so far" if span.lasting else "", words.BUSY),
        ]
        if usually is not None:
            parts.append((f"  usually {words.seconds(usually)}", words.MUTED))
            if is_slow(span.seconds, usually):
                parts.append((f"  slow: {span.seconds / usually:.1f} times as long", words.WARN))
        lines.append(Content.assemble(*parts))
    return lines


def _history(case: CaseView, run: Run, before: list[Run], now: float) -> list[Content]:
    """How long the case took before, and how long this run waited for its turn."""
    lines = []
    here = [*before, *(other for other in case.runs if other.queued_at >= run.queued_at)]
    took = [total(other, now) for other in here if other.state == "ended" and other.phases][-_HISTORY:]
    if len(took) > 1:
        least, most = words.seconds(min(took)), words.seconds(max(took))
        bars = sparkline(took)
        lines.append(
            Content.assemble("  ", (bars, words.BUSY), f"  the last {len(took)} runs, {least} to {most}")
        )
    if run.started_at is not None and (waited := run.started_at - run.queued_at) > _LEAST_WAIT:
        lines.append(Content.styled(f"  waited {words.seconds(waited)} for its turn", words.MUTED))
    return lines
