"""Names of cases in a list that has no room for all of them."""

from __future__ import annotations

import pytest

from tests.ui.driving import opened
from tests.ui.streams import Stream, passed
from tests.ui.test_snapshots import SIZES
from workbench.cases.case import Case
from workbench.ui.shortened import room_needed, shortened
from workbench.ui.widgets.case_list import Cases

TASKS = ("compile-the-linux-kernel", "compile-a-tiny-interpreter", "fix-a-rewritten-history")
AGENTS = ("oracle", "claude-code claude-opus-4-1", "claude-code claude-sonnet-4-5")
JOB = [f"terminal-bench/{task} · {agent}" for task in TASKS for agent in AGENTS]
NEGATIVES = [f"forgets-the-last-line-of-the-input-{what}" for what in ("when-empty", "when-long", "always")]


@pytest.mark.parametrize("size", [*SIZES, (120, 30)])
@pytest.mark.parametrize("names", [JOB, NEGATIVES])
async def test_no_two_cases_read_the_same(names: list[str], size: tuple[int, int]) -> None:
    stream = Stream().engine().task(tuple(Case(name, "agent", None) for name in names))
    for name in names:
        stream.whole(name, passed())
    async with opened(stream, size) as driven:
        rows = [
            str(option.prompt).partition("  ")[0] for option in driven.app.screen.query_one(Cases).options
        ]
        assert len(set(rows)) == len(names)


def test_a_name_that_no_other_begins_like_is_cut_at_its_end() -> None:
    names = frozenset({"oracle", "a-wrong-solution-with-a-long-name", "truncates-titles"})
    assert shortened(names, 16)["a-wrong-solution-with-a-long-name"] == "a-wrong-solutio…"
    assert shortened(names, 16)["truncates-titles"] == "truncates-titles"


def test_what_names_share_goes_before_what_tells_them_apart() -> None:
    names = frozenset(JOB)
    assert shortened(names, 33)[JOB[1]] == "…compile-the-lin…claude-…opus-4-1"
    assert shortened(names, 16)[JOB[7]] == "…fix-…clau…opus…"
    assert shortened(names, 76) == {name: name for name in JOB}
    assert room_needed(names) == len("terminal-bench/compile-a-tiny-interpreter · claude-code claude-s…")


def test_names_are_cut_by_what_they_take_on_the_screen() -> None:
    names = frozenset({"漢字漢字漢字漢字漢字-一", "漢字漢字漢字漢字漢字-二"})
    assert shortened(names, 8) == {name: f"…漢字-{name[-1]}" for name in names}
