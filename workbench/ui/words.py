"""How things are called on the screen: one sign, one word and one colour for each.

Colours are named by the theme's tokens (`$ok`, `$bad`, ...), and never say anything alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from workbench.proof.verdict import Verdict, VerdictKind
from workbench.session import CaseView, Run
from workbench.task.problem import Severity
from workbench.trials.outcome import Outcome, PhaseName, Test, TestStatus
from workbench.ui.ansi import uncolored
from workbench.ui.visible import one_line

OK, BAD, WARN, BUSY, MUTED, PLAIN = "$ok", "$bad", "$warn", "$busy", "$muted", ""

_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_SPINS_PER_SECOND = 4
_LONGEST = 99.5 * 3600
_NAMED = 3
"""Tasks named where there may be many."""
_BEGINNING = 400
"""Characters looked at of a message, for there is no room for more in a line."""
LONGEST_SENTENCE = 220
"""Characters of a sentence in a headline; the tests tab has all of a test's message, the log of a reason."""


@dataclass(frozen=True)
class Mark:
    """How something is shown."""

    sign: str
    """One cell wide."""
    word: str
    color: str
    """A style such as `$ok`; empty for plain text."""


VERDICTS: dict[VerdictKind, Mark] = {
    "holds": Mark("✓", "HOLDS", OK),
    "broken": Mark("✗", "BROKEN", BAD),
    "cannot fail": Mark("✗", "CANNOT FAIL", BAD),
    "unproven": Mark("?", "UNPROVEN", WARN),
    "flaky": Mark("≈", "FLAKY", WARN),
}
SEVERITIES: dict[Severity, Mark] = {
    "error": Mark("✗", "error", BAD),
    "warning": Mark("!", "warning", WARN),
    "info": Mark("i", "note", BUSY),
}
TESTS: dict[TestStatus, Mark] = {
    "passed": Mark("✓", "passed", OK),
    "failed": Mark("✗", "failed", BAD),
    "skipped": Mark("-", "skipped", MUTED),
    "error": Mark("!", "error", BAD),
}
PHASES: dict[PhaseName, Mark] = {
    "environment": Mark("┄", "environment", "$phase-environment"),
    "agent setup": Mark("·", "agent setup", MUTED),
    "agent": Mark("─", "agent", "$phase-agent"),
    "transfer": Mark("·", "transfer", MUTED),
    "verifier": Mark("━", "verifier", "$phase-verifier"),
    "teardown": Mark("·", "teardown", MUTED),
}

MARKED = Mark("◆", "marked", "$accent")
WAITING = Mark("◌", "waiting", MUTED)
WAITS = "It waits for its turn."
"""What is said of a run that is queued."""
NOTHING_RUNS = "This is a recording: nothing runs here."
"""What is said to a wish there."""


def spinner(now: float) -> str:
    """The sign of something that runs, at a moment in Unix seconds."""
    return _SPINNER[int(now * _SPINS_PER_SECOND) % len(_SPINNER)]


def verdict_mark(verdict: Verdict | None) -> Mark:
    """The verdict's sign and word; with no verdict yet, that."""
    return VERDICTS[verdict.kind] if verdict else Mark("…", "NO VERDICT YET", MUTED)


def outcome_mark(outcome: Outcome) -> Mark:
    """What an outcome means for its case: the colour tells whether the expectation is met."""
    word: str = outcome.kind
    if outcome.kind == "cancelled":
        return Mark("–", word, MUTED)
    if outcome.met is True:
        return Mark("✓", word, OK)
    if outcome.met is False:
        return Mark("✗", word.upper(), BAD)
    if outcome.kind in ("passed", "failed"):
        return Mark("·", word, PLAIN)
    return Mark("!", word, WARN)


def run_mark(run: Run, now: float) -> Mark:
    """How a run stands."""
    if run.outcome:
        return outcome_mark(run.outcome)
    if run.state == "running":
        return Mark(spinner(now), run.phase.name if run.phase else "starting", BUSY)
    return WAITING


def case_mark(view: CaseView, now: float) -> Mark:
    """How a case stands: what runs first, then what is known, then what waits."""
    run = view.current
    known = view.decided is not None and not view.stale
    if run and (run.state == "running" or (run.state == "queued" and not known)):
        return run_mark(run, now)
    if run and run.outcome and run.outcome.kind == "cancelled" and view.decided is None:
        return outcome_mark(run.outcome)
    if view.decided and view.decided.outcome:
        mark = outcome_mark(view.decided.outcome)
        if speaks_of_all(view):
            kinds = ended_kinds(view)
            mark = Mark("·", f"{kinds.count('passed')}/{len(kinds)} passed", PLAIN)
        return Mark("~", mark.word, MUTED) if view.stale else mark
    return Mark(" ", "not run", MUTED)


def ended_kinds(view: CaseView) -> list[str]:
    """What each run of a case came to that was not cancelled."""
    return [run.outcome.kind for run in view.runs if run.outcome and run.outcome.kind != "cancelled"]


def speaks_of_all(view: CaseView) -> bool:
    """Whether a row tells of all runs of its case: an agent had to do nothing, so no single one decides."""
    return view.case.kind == "agent" and view.case.expect is None and len(ended_kinds(view)) > 1


def reward(value: float | None) -> str:
    """A reward with at least one decimal, or a dash where none was given."""
    if value is None:
        return "–"
    text = f"{value:.3f}".rstrip("0")
    return text + "0" if text.endswith(".") else text


def rewards(outcome: Outcome) -> str:
    """All rewards by their keys; the one called `reward` alone needs no key."""
    if len(outcome.rewards) > 1:
        return "  ".join(f"{one_line(key)} {reward(value)}" for key, value in outcome.rewards.items())
    return f"reward {reward(outcome.reward)}" if outcome.reward is not None else "no reward"


def seconds(value: float) -> str:
    """A duration, in the unit that a person would use."""
    if not value < _LONGEST:
        return "> 99 h"
    if value < 10:
        return f"{value:.2f} s"
    if value < 100:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    if minutes < 60:
        return f"{minutes}m {rest:02d}s"
    return f"{minutes // 60}h {minutes % 60:02d}m"


def elapsed(run: Run, now: float) -> float:
    """How long a run took, or has taken so far, in seconds; 0 while it waits."""
    if run.started_at is None:
        return run.outcome.seconds if run.outcome else 0.0
    return max(0.0, (now if run.ended_at is None else run.ended_at) - run.started_at)


def expectation(view: CaseView) -> str:
    """What has to come of the case."""
    expect = view.case.expect
    return f"must {expect}" if expect else "informs"


def reason(outcome: Outcome) -> str:
    """The outcome's reason as one harmless line."""
    return one_line(outcome.reason)


def beginning(test: Test) -> str:
    """The first line of what a check says."""
    return one_line(uncolored(next(iter(test.message[:_BEGINNING].strip().splitlines()), "")))


def others_recorded(tasks: Sequence[str]) -> str:
    """What tasks there are in a recording besides the one that is shown, by their directories; empty where
    there are none."""
    names = [one_line(PurePath(task).name) for task in tasks[:_NAMED]]
    more = [f"{len(tasks) - _NAMED} more"] if len(tasks) > _NAMED else []
    return f"Also in this recording: {', '.join(names + more)}" if tasks else ""


def raised(exception: str, reason: str) -> str:
    """What was raised and what it means, for some reasons begin with its name."""
    return reason if reason.startswith(f"{exception}:") else f"{exception}: {reason}"
