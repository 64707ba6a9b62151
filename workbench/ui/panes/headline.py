"""How a run stands, in a few lines."""

from __future__ import annotations

from textual.content import Content

from workbench.session import CaseView, Run
from workbench.ui import words
from workbench.ui.origin import differed_words, origins, slower_words
from workbench.ui.progress import seconds_left
from workbench.ui.tabs.tab import Shown
from workbench.ui.visible import one_line, visible

_DETAIL_LINES = 6
_LEAST_PHASE = 0.05
"""Seconds; a shorter phase that ended is left to the timing tab."""


def headline(shown: Shown) -> Content:
    """What the run came to or is doing, where its time went, and what else is worth knowing."""
    case, run = shown.case, shown.run
    if case is None:
        return Content.styled("no case is selected", words.MUTED)
    lines = [_standing(case, run, shown.now)]
    if run and run.phases:
        lines.append(_phases(run, shown.now))
    if case.case.why:
        label = "what is wrong with it: " if case.case.kind == "negative" else ""
        lines.append(Content.styled(f"{label}{_short(one_line(case.case.why))}", words.MUTED))
    if case.stale:
        lines.append(Content.styled(f"~ stale: {one_line(case.stale)}", words.WARN))
    if event := shown.task.differed.get(case.case.name):
        lines.append(Content.styled(f"≠ {differed_words(event)}", words.WARN))
    if run and run.slower:
        lines.append(Content.styled(f"▲ slower: {slower_words(run.slower)}", words.WARN))
    if run and run.outcome:
        if notes := " · ".join(one_line(note) for note in run.outcome.notes):
            lines.append(Content.styled(f"! {notes}", words.MUTED))
        lines += [Content(visible(line)) for line in run.outcome.detail[-_DETAIL_LINES:]]
    return Content("\n").join(lines)


def _standing(case: CaseView, run: Run | None, now: float) -> Content:
    must = (f"  {words.expectation(case)}", words.MUTED)
    if run is None:
        return Content.assemble(("not run", words.MUTED), must)
    mark = words.run_mark(run, now)
    set_apart = [
        part
        for origin in origins(run, now)
        for part in ("  ", (f"{origin.sign} {origin.word}", origin.color))
    ]
    start = Content.assemble((f"{mark.sign} {mark.word}", f"bold {mark.color}".strip()), must)
    if run.outcome:
        told = "reward" in run.outcome.reason and len(run.outcome.rewards) < 2
        rewards = "" if told else f"  {words.rewards(run.outcome)}"
        return Content.assemble(start, rewards, f"  {_short(words.reason(run.outcome))}", *set_apart)
    left = seconds_left(run, now)
    expected = f"  about {words.seconds(left)} left" if left else ""
    why = f"  {one_line(run.why)}" if run.why else ""
    return Content.assemble(start, expected, *set_apart, (why, words.MUTED))


def _short(text: str) -> str:
    return text if len(text) <= words.LONGEST_SENTENCE else f"{text[: words.LONGEST_SENTENCE]}…"


def _phases(run: Run, now: float) -> Content:
    parts: list[str | tuple[str, str]] = []
    for phase in run.phases:
        took = max(0.0, (phase.ended_at or now) - phase.started_at)
        if took < _LEAST_PHASE and phase.ended_at is not None:
            continue
        mark = words.PHASES[phase.name]
        step = f" {one_line(phase.step)}" if phase.step else ""
        parts += [(f"{mark.sign} {phase.name}{step} ", mark.color), f"{words.seconds(took)}  "]
    return Content.assemble(*parts, (words.seconds(words.elapsed(run, now)), "bold"))
