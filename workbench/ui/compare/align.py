"""Two texts line by line, so that equal lines stand beside each other."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest

_SMALL = 1_000_000
"""Pairs of lines up to which each is held against each."""
_FEW_WORDS = 4000
"""Pairs of words up to which each is held against each: a line is marked while it is drawn."""
_ALIKE = 0.5
"""The share of words that two lines must have in common for their differences to be worth marking."""
# What differs between any two runs and means nothing: durations, clock times, addresses.
_CHANCE = re.compile(
    r"\b\d+(?:\.\d+)? ?(?:[mµn]?s|secs?|seconds|minutes)\b"
    r"|\b\d{2}:\d{2}:\d{2}(?:[.,]\d+)?Z?\b"
    r"|\b0x[0-9a-fA-F]+\b"
)
_WORD = re.compile(r"\w+|\W")


@dataclass(frozen=True, slots=True)
class Row:
    """What stands beside each other."""

    left: int | None
    """The line on the left, None where it has none here."""
    right: int | None
    same: bool
    """Whether nothing is known to differ, durations and the like left aside."""


def align(left: Sequence[str], right: Sequence[str]) -> list[Row]:
    """Both texts as rows."""
    ours, theirs = [[_CHANCE.sub("\0", line) for line in lines] for lines in (left, right)]
    rows: list[Row] = []
    for a, b, c, d, same in _blocks(ours, theirs, 0, len(ours), 0, len(theirs)):
        paired = min(b - a, d - c)
        rows += [Row(a + at, c + at, same) for at in range(paired)]
        rows += [Row(at, None, False) for at in range(a + paired, b)]
        rows += [Row(None, at, False) for at in range(c + paired, d)]
    return rows


def apart(left: Sequence[str], right: Sequence[str]) -> list[Row]:
    """Texts that cannot be compared as rows: none of them differs."""
    return [Row(ours, theirs, True) for ours, theirs in zip_longest(range(len(left)), range(len(right)))]


def differences(rows: Sequence[Row]) -> list[int]:
    """The first row of each stretch of rows that differ."""
    return [at for at, row in enumerate(rows) if not row.same and (at == 0 or rows[at - 1].same)]


def differing(left: str, right: str) -> tuple[list[tuple[int, int]], list[tuple[int, int]]] | None:
    """Where two lines differ, word by word, as spans of characters in each; None where little is alike."""
    ours, theirs = _WORD.findall(left), _WORD.findall(right)
    head = _alike(ours, theirs)
    tail = _alike(ours[head:][::-1], theirs[head:][::-1])
    a, b, c, d = head, len(ours) - tail, head, len(theirs) - tail
    parts = [(a, b, c, d)] if b > a or d > c else []
    same = head + tail
    if (b - a) * (d - c) <= _FEW_WORDS:
        matcher = SequenceMatcher(None, ours[a:b], theirs[c:d], autojunk=False)
        same += sum(block.size for block in matcher.get_matching_blocks())
        codes = matcher.get_opcodes()
        parts = [(a + i, a + j, c + k, c + m) for tag, i, j, k, m in codes if tag != "equal"]
    if 2 * same < _ALIKE * (len(ours) + len(theirs)):
        return None
    starts, other_starts = _starts(ours), _starts(theirs)
    return (
        [(starts[i], starts[j]) for i, j, _, _ in parts if j > i],
        [(other_starts[k], other_starts[m]) for _, _, k, m in parts if m > k],
    )


def _alike(ours: list[str], theirs: list[str]) -> int:
    """How many words both begin with."""
    pairs = enumerate(zip(ours, theirs, strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(ours), len(theirs)))


def _starts(words: list[str]) -> list[int]:
    starts = [0]
    for word in words:
        starts.append(starts[-1] + len(word))
    return starts


type _Block = tuple[int, int, int, int, bool]


def _blocks(x: list[str], y: list[str], a: int, b: int, c: int, d: int) -> Iterator[_Block]:
    """Stretches `x[a:b]` beside `y[c:d]`, and whether they say the same."""
    head = 0
    while a + head < b and c + head < d and x[a + head] == y[c + head]:
        head += 1
    if head:
        yield a, a + head, c, c + head, True
    a, c = a + head, c + head
    tail = 0
    while b - tail > a and d - tail > c and x[b - tail - 1] == y[d - tail - 1]:
        tail += 1
    if a < b - tail or c < d - tail:
        yield from _middle(x, y, a, b - tail, c, d - tail)
    if tail:
        yield b - tail, b, d - tail, d, True


def _middle(x: list[str], y: list[str], a: int, b: int, c: int, d: int) -> Iterator[_Block]:
    if a == b or c == d:
        yield a, b, c, d, False
    elif (b - a) * (d - c) <= _SMALL:
        matcher = SequenceMatcher(None, x[a:b], y[c:d], autojunk=False)
        for tag, i, j, k, m in matcher.get_opcodes():
            yield a + i, a + j, c + k, c + m, tag == "equal"
    elif anchors := _anchors(x, y, a, b, c, d):
        at, other = a, c
        for i, k in anchors:
            yield from _blocks(x, y, at, i, other, k)
            yield i, i + 1, k, k + 1, True
            at, other = i + 1, k + 1
        yield from _blocks(x, y, at, b, other, d)
    else:
        yield a, b, c, d, False


def _anchors(x: list[str], y: list[str], a: int, b: int, c: int, d: int) -> list[tuple[int, int]]:
    """Lines that both have exactly once, as many as keep their order ("patience diff")."""
    once_x, once_y = Counter(x[a:b]), Counter(y[c:d])
    place = {y[k]: k for k in range(c, d) if once_y[y[k]] == 1}
    pairs = [(i, place[x[i]]) for i in range(a, b) if once_x[x[i]] == 1 and x[i] in place]
    # The longest run of pairs that goes up on both sides.
    tops: list[int] = []
    last: list[int] = []
    before: list[int | None] = []
    for at, (_, k) in enumerate(pairs):
        pile = bisect_left(tops, k)
        before.append(last[pile - 1] if pile else None)
        tops[pile : pile + 1] = [k]
        last[pile : pile + 1] = [at]
    chain: list[tuple[int, int]] = []
    step: int | None = last[-1] if last else None
    while step is not None:
        chain.append(pairs[step])
        step = before[step]
    return chain[::-1]
