"""Where an outcome comes from, and how it compares with what came before."""

from __future__ import annotations

from collections.abc import Iterable

from workbench.events import ConfirmationDiffered
from workbench.proof.documents import Slower
from workbench.session import Run, TaskView
from workbench.ui.figures import ago
from workbench.ui.visible import one_line
from workbench.ui.words import MUTED, WARN, Mark, seconds

REVERIFIED = Mark("↻", "re-verified", "$accent")
RECALLED = Mark("◷", "from a receipt", MUTED)
DIFFERED = Mark("≠", "a whole trial differs", WARN)
SLOWER = Mark("▲", "slower", WARN)


def origins(run: Run, now: float) -> list[Mark]:
    """What sets a run apart from a whole trial of this session."""
    found = []
    if not (run.outcome.whole if run.outcome else run.whole):
        found.append(REVERIFIED if run.outcome else Mark(REVERIFIED.sign, "re-verifying", REVERIFIED.color))
    if run.recalled:
        found.append(Mark(RECALLED.sign, ago(now - (run.ended_at or now)), RECALLED.color))
    return found


def proof_origin(task: TaskView, now: float) -> str:
    """Which of a task's outcomes are no whole trials of this session; empty when all are."""
    decided = [run for view in task.cases.values() if view.case.expect and (run := view.decided)]
    reverified = sum(1 for run in decided if run.outcome and not run.outcome.whole)
    recalled = [run.ended_at or now for run in decided if run.recalled]
    said = []
    if reverified:
        said.append(f"{REVERIFIED.sign} {_share(reverified, len(decided))} {REVERIFIED.word}")
    if recalled:
        age = ago(now - min(recalled))
        word = "made elsewhere" if task.is_elsewhere else RECALLED.word
        said.append(f"{RECALLED.sign} {_share(len(recalled), len(decided))} {word}, {age}")
    return " · ".join(said)


def differed_words(event: ConfirmationDiffered) -> str:
    """What such a trial found, in one line."""
    return (
        f"re-verified, it {one_line(event.reverified)}; as a whole trial, it {one_line(event.whole)}. "
        "The verdict depends on something that a trial has and a branch of its state has not, "
        "such as a running process."
    )


def slower_words(slower: Iterable[Slower]) -> str:
    """Phases that took longer than their own spread, with from and to."""
    return ", ".join(
        f"{one.phase} {one.step} {seconds(one.before)} → {seconds(one.now)}".replace("  ", " ")
        for one in slower
    )


def _share(part: int, whole: int) -> str:
    return "all" if part == whole else f"{part} of {whole}"
