"""Which cases are listed, in which order, and what a row says of many runs."""

from __future__ import annotations

import msgspec

from tests.ui.driving import Driven, opened
from tests.ui.streams import TASK, Stream, cannot_fail, failed, holding, passed
from workbench import events as ev
from workbench.cases.case import Case
from workbench.ui import remembered


def rows(driven: Driven) -> list[str]:
    """The names of the listed cases, from the top."""
    lines = driven.text.splitlines()
    start = next(at for at, line in enumerate(lines) if "outcome" in line) + 1
    found = (line.strip("│ ").partition("│")[0].split() for line in lines[start:])
    names = [words[1] for words in found if len(words) > 2]
    return [name for name in names if name in driven.app.session.task(TASK).cases]


async def test_a_key_lists_the_worst_first_then_the_slowest_then_by_name_then_as_found() -> None:
    async with opened(cannot_fail()) as driven:
        found = rows(driven)
        await driven.press("o")
        assert rows(driven)[0] == "hard-coded"  # which passed, though it must fail
        assert "1 Cases · worst first" in driven.text
        await driven.press("o")
        assert "1 Cases · slowest first" in driven.text
        await driven.press("o")
        assert rows(driven) == sorted(found)
        await driven.press("o")
        assert rows(driven) == found


async def test_a_key_lists_only_what_is_not_as_it_must_be_and_going_to_another_lists_all() -> None:
    async with opened(cannot_fail()) as driven:
        every = len(rows(driven))
        await driven.press("i")
        assert "hard-coded" in rows(driven)
        assert "oracle" not in rows(driven)
        assert f"only not as they must: {len(rows(driven))} of {every}" in driven.text
        await driven.press("slash", *"oracle", "enter")
        assert "3 Run · oracle" in driven.text
        assert len(rows(driven)) == every


async def test_order_and_filter_come_back_next_time() -> None:
    async with opened(cannot_fail()) as driven:
        await driven.press("o", "i", "j", "q")
        before = rows(driven)
    async with opened(cannot_fail()) as driven:
        assert "1 Cases · worst first · only not as they must" in driven.text
        assert rows(driven) == before
        await driven.press("q")
    # Where the remembered case is not listed now, the filter stays all the same.
    kept = remembered.load()
    remembered.keep(TASK, kept.theme, msgspec.structs.replace(kept.tasks[TASK], case="oracle"))
    async with opened(cannot_fail()) as driven:
        assert rows(driven) == before


async def test_where_no_case_is_such_that_is_said_and_the_key_goes_on_to_others() -> None:
    async with opened(holding()) as driven:
        every = rows(driven)
        await driven.press("i")
        assert "Every case is as it must be: i lists others." in driven.text
        await driven.press("3", "escape", "i")
        assert "No case runs: i lists others." in driven.text
        await driven.press("i", "j")
        assert rows(driven) == every
        assert f"3 Run · {every[1]}" in driven.text


async def test_a_row_of_an_agent_speaks_of_all_its_runs() -> None:
    case = Case("claude-code", "agent", None)
    stream = Stream().engine().task().add(ev.CasesFound(task=TASK, cases=(case,)))
    for number, outcome in enumerate((passed(), passed(), passed(), failed())):
        stream.whole(case.name, outcome, run=f"run-{number}")
    async with opened(stream) as driven:
        row = next(line for line in driven.text.splitlines() if "3/4 passed" in line)
        assert "0.75" in row
