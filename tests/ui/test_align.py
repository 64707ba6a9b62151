"""Two texts put beside each other."""

from __future__ import annotations

from unittest import mock

from hypothesis import given
from hypothesis import strategies as st

from workbench.ui.compare.align import Row, align, differences, differing

LINES = st.lists(st.sampled_from(["a", "b", "c", "d", ""]), max_size=30)
TEXT = st.text(alphabet="ab ", max_size=30)


def shown(left: list[str], right: list[str]) -> list[tuple[str | None, str | None, bool]]:
    return [
        (
            None if row.left is None else left[row.left],
            None if row.right is None else right[row.right],
            row.same,
        )
        for row in align(left, right)
    ]


def test_equal_lines_stand_beside_each_other_and_others_are_told_apart() -> None:
    assert shown(["a", "b", "c"], ["a", "x", "c", "d"]) == [
        ("a", "a", True),
        ("b", "x", False),
        ("c", "c", True),
        (None, "d", False),
    ]


def test_what_one_side_lacks_leaves_a_gap() -> None:
    assert shown(["a", "b", "c"], ["a", "c"]) == [("a", "a", True), ("b", None, False), ("c", "c", True)]


def test_durations_clock_times_and_addresses_are_no_difference() -> None:
    left = ["6 passed in 0.05s", "12:00:01 start", "<object at 0x7f11>", "took 3 seconds"]
    right = ["6 passed in 1.75s", "12:33:59 start", "<object at 0xabcd>", "took 14 seconds"]
    assert all(row.same for row in align(left, right))


def test_counts_are_a_difference() -> None:
    assert not align(["6 passed"], ["5 passed"])[0].same


@given(LINES, LINES)
def test_every_line_is_shown_once_and_in_order(left: list[str], right: list[str]) -> None:
    rows = align(left, right)
    assert [row.left for row in rows if row.left is not None] == list(range(len(left)))
    assert [row.right for row in rows if row.right is not None] == list(range(len(right)))
    for row in rows:
        assert row.left is not None or row.right is not None
        if row.same:
            assert row.left is not None
            assert row.right is not None
            assert left[row.left] == right[row.right]


@given(LINES)
def test_a_text_does_not_differ_from_itself(lines: list[str]) -> None:
    assert align(lines, lines) == [Row(at, at, True) for at in range(len(lines))]


def test_texts_too_large_to_hold_each_line_against_each_are_aligned_by_what_is_unique() -> None:
    left = [f"line {number}" for number in range(20_000)]
    right = [line for number, line in enumerate(left) if number % 500]
    right[7000:7000] = [f"new {number}" for number in range(3000)]
    with mock.patch("workbench.ui.compare.align.SequenceMatcher", None):
        rows = align(left, right)
    assert sum(row.same for row in rows) == len(left) - 40


def test_texts_that_have_nothing_in_common_and_are_huge_are_aligned_all_the_same() -> None:
    left, right = ["x"] * 30_000, ["y"] * 40_000
    assert len(align(left, right)) == 40_000


def test_each_stretch_of_differences_is_gone_to_once() -> None:
    rows = align(["a", "b", "c", "d", "e"], ["a", "x", "y", "d", "z"])
    assert differences(rows) == [1, 4]


def test_differing_words_are_found_in_both_lines() -> None:
    assert differing("the cat sat", "the dog sat") == ([(4, 7)], [(4, 7)])
    assert differing("assert 1 == 2", "assert 1 == 22") == ([(12, 13)], [(12, 14)])


def test_lines_with_little_in_common_are_not_compared_word_by_word() -> None:
    assert differing("6 passed", "Traceback (most recent call last):") is None


@given(TEXT, TEXT)
def test_what_is_not_marked_of_two_lines_is_the_same_in_both(left: str, right: str) -> None:
    if (spans := differing(left, right)) is not None:
        assert _without(left, spans[0]) == _without(right, spans[1])


def _without(line: str, spans: list[tuple[int, int]]) -> str:
    for start, end in reversed(spans):
        line = line[:start] + line[end:]
    return line


def test_in_long_lines_no_word_is_held_against_each_other() -> None:
    left, right = "ab " * 1300 + "end", "ab " * 600 + "cd " * 300 + "ab " * 450 + "end"
    with mock.patch("workbench.ui.compare.align.SequenceMatcher", None):
        spans = differing(left, right)
    assert spans == ([(1800, 1800 + 3 * 250 - 1)], [(1800, 1800 + 3 * 300 - 1)])
