"""What two runs tested and how long they took, as lines."""

from __future__ import annotations

from collections import Counter

from textual.content import Content

from workbench.session import Run
from workbench.trials.outcome import PhaseName, Test
from workbench.ui import words
from workbench.ui.timing import Span, spans, total
from workbench.ui.visible import one_line

_TIME = 8
_LEAST_BAR = 10


type Pair = tuple[Test | None, Test | None]
"""A test as it came out left and right; one of them may not have it."""


def tests_beside(left: tuple[Test, ...], right: tuple[Test, ...]) -> list[Content]:
    """The tests of both by name, those that differ first."""
    return [_test_line(pair) for pair in sorted(paired(left, right), key=differ, reverse=True)]


def paired(left: tuple[Test, ...], right: tuple[Test, ...]) -> list[Pair]:
    """The tests of both, those of one name and step together, in the order of the left."""
    ours, theirs = _by_name(left), _by_name(right)
    return [(ours.get(name), theirs.get(name)) for name in dict.fromkeys((*ours, *theirs))]


def differ(pair: Pair) -> bool:
    """Whether a test came out otherwise."""
    left, right = pair
    return status(left) != status(right)


def status(test: Test | None) -> str:
    """How a test came out."""
    return test.status if test else "not there"


def _by_name(tests: tuple[Test, ...]) -> dict[tuple[str, str, int], Test]:
    """By step, name, and how many of the same there are before it: a report may name several alike."""
    named: dict[tuple[str, str, int], Test] = {}
    seen = Counter[tuple[str, str]]()
    for test in tests:
        key = test.step, test.name
        named[(*key, seen[key])] = test
        seen[key] += 1
    return named


def timing_beside(left_name: str, left: Run, right_name: str, right: Run, width: int, now: float) -> Content:
    """Both runs on one scale, and phase by phase."""
    label = min(max(len(left_name), len(right_name)), width // 3)
    scale = max(total(left, now), total(right, now)) or 1.0
    bar = max(_LEAST_BAR, width - label - _TIME - 4)
    lines = []
    for name, run in ((left_name, left), (right_name, right)):
        title = Content(_cut(name, label)).truncate(label, ellipsis=True)
        took = words.seconds(total(run, now)).rjust(_TIME)
        lines.append(
            Content.assemble(
                title.pad_right(label - title.cell_length),
                "  ",
                bars(spans(run, now), bar, scale),
                "  ",
                took,
            )
        )
    lines += [Content(), *_phase_lines(spans(left, now), spans(right, now))]
    return Content("\n").join(lines)


def _cut(name: str, room: int) -> str:
    """A name cut in its middle, for two runs of a case differ in their numbers at the end."""
    kept = room // 3
    return name if len(name) <= room else f"{name[: room - kept - 1]}…{name[-kept:]}"


def bars(parts: list[Span], width: int, scale: float) -> Content:
    """Stretches of a run as one bar, `scale` seconds wide."""
    cells: list[str | tuple[str, str]] = []
    at = 0
    for span in parts:
        upto = min(width, max(at, round(width * (span.start + span.seconds) / scale)))
        mark = words.PHASES[span.name] if span.name else words.Mark(" ", "", "")
        cells.append((mark.sign * (upto - at), mark.color))
        at = upto
    return Content.assemble(*cells, " " * (width - at))


def _phase_lines(left: list[Span], right: list[Span]) -> list[Content]:
    ours, theirs = (_by_phase(parts) for parts in (left, right))
    lines = [Content.styled(f"  {'phase':<22}{'left':>10}{'right':>10}{'difference':>12}", words.MUTED)]
    for key in dict.fromkeys((*ours, *theirs)):
        name, step = key
        mark = words.PHASES[name] if name else words.Mark(" ", "", words.MUTED)
        one, other = ours.get(key), theirs.get(key)
        told = [words.seconds(took) if took is not None else "–" for took in (one, other)]
        change = ""
        if one is not None and other is not None:
            apart = words.seconds(abs(other - one))
            change = "=" if apart == words.seconds(0.0) else f"{'+' if other > one else '-'}{apart}"
        called = f"{name or 'between phases'} {one_line(step)}".strip()
        lines.append(
            Content.assemble(
                (f"{mark.sign} {called:<22}", mark.color),
                f"{told[0]:>10}{told[1]:>10}",
                (f"{change:>12}", words.MUTED),
            )
        )
    return lines


def _by_phase(parts: list[Span]) -> dict[tuple[PhaseName | None, str], float]:
    took: dict[tuple[PhaseName | None, str], float] = {}
    for span in parts:
        key = (span.name, span.step)
        took[key] = took.get(key, 0.0) + span.seconds
    return took


def _test_line(pair: Pair) -> Content:
    known = [test for test in pair if test]
    step, name = known[0].step, known[0].name
    parts: list[str | tuple[str, str]] = []
    for test in pair:
        mark = words.TESTS[test.status] if test else words.Mark(" ", "not there", words.MUTED)
        parts.append((f"{mark.sign} {mark.word:<10}", mark.color))
    differs = differ(pair)
    said = next((words.beginning(test) for test in reversed(known) if test.message), "")
    parts += [
        ("≠ " if differs else "  ", words.WARN),
        (f"{one_line(step)}: " if step else "", words.MUTED),
        (one_line(name), "bold" if differs else ""),
    ]
    if any(test.reruns for test in known):
        tries = " / ".join(str(test.reruns + 1) if test else "–" for test in pair)
        parts.append((f"  ↻ tried {tries} times", words.WARN))
    parts.append((f"  {said}" if said else "", words.MUTED))
    return Content.assemble(*parts)
