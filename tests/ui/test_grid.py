"""Live trials on a grid: what it shows, what its keys do, and how it looks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.ui.driving import Driven, opened, screen_text, until
from tests.ui.scenes import many_trials, trials_of
from tests.ui.streams import TASK, RecordedSource, Stream, passed
from tests.ui.test_snapshots import Compare, compare, sizes
from workbench import events as ev
from workbench import wishes
from workbench.session import Run
from workbench.trials.outcome import Outcome
from workbench.ui.app import Demo, WorkbenchApp
from workbench.ui.screens.main import MainScreen
from workbench.ui.trials import last_line, tally


def lines(driven: Driven, word: str) -> list[str]:
    return [line.strip("│ ") for line in driven.text.splitlines() if word in line]


def numbers(driven: Driven) -> list[int]:
    """Of the trials in a single column, from the top."""
    return [int(number) for number in re.findall(r"^│ \S +(\d+) \w+ .* s +│$", driven.text, re.MULTILINE)]


async def test_each_trial_that_runs_shows_phase_clock_memory_and_last_line() -> None:
    async with opened(many_trials(), (80, 40)) as driven:
        await driven.press("D")
        (first, *_) = lines(driven, "  9 verifier")
        assert first.split()[1:5] == ["9", "verifier", "1.60", "s"]
        assert "39 MiB" in driven.text
        assert "working on it 9" in driven.text
        assert "step 9 of many" not in driven.text


async def test_ended_trials_stand_below_those_that_run_by_their_number() -> None:
    stream = many_trials()
    async with opened(stream, (60, 40)) as driven:
        await driven.press("D")
        assert numbers(driven) == [9, 10, 11, 12, 1, 2, 3, 4, 5, 6, 7, 8]
        run = "oracle-11"
        driven.source.feed(ev.RunEnded(at=stream.now, task=TASK, case="oracle", run=run, outcome=passed()))
        await driven.settle()
        assert numbers(driven) == [9, 10, 12, 1, 2, 3, 4, 5, 6, 7, 8, 11]


@pytest.mark.parametrize("over", ["question_mark", "ctrl+p"])
async def test_trials_go_on_beneath_help_and_palette(over: str) -> None:
    stream = many_trials()
    async with opened(stream) as driven:
        await driven.press("D")
        await driven.press(over)
        assert "8 of 16 done" in driven.text
        run = "oracle-11"
        driven.source.feed(ev.RunEnded(at=stream.now, task=TASK, case="oracle", run=run, outcome=passed()))
        await until(driven.pilot, lambda: "9 of 16 done" in driven.text)


async def test_totals_median_percentile_and_memory_are_told() -> None:
    async with opened(many_trials()) as driven:
        await driven.press("D")
        (totals,) = lines(driven, "of 16 done")
        assert totals.split("   ")[:8] == [
            "8 of 16 done",
            "✓ 7 passed",
            "✗ 0 failed",
            "! 1 neither",
            "4 running",
            "4 waiting",
            "median 0.81 s",
            "95th percentile 1.06 s",
        ]
        assert "4 machines, 162 MiB" in totals


async def test_of_a_case_that_must_fail_the_failed_are_the_good_ones() -> None:
    async with opened(trials_of("nop", 16)) as driven:
        await driven.press("j", "D")
        (totals,) = lines(driven, "of 16 done")
        assert "✓ 7 failed   ✗ 0 passed" in totals


async def test_a_key_repeats_the_case_and_another_cancels_what_runs_or_waits() -> None:
    async with opened(many_trials()) as driven:
        await driven.press("D", "r")
        assert driven.source.sent[-1] == wishes.Repeat(task=TASK, case="oracle", times=16)
        await driven.press("x")
        assert driven.source.sent[2:] == [
            wishes.Cancel(task=TASK, run=f"oracle-{number}") for number in range(9, 17)
        ]


async def test_without_trials_it_says_how_to_start_some() -> None:
    async with opened(Stream().engine().task()) as driven:
        await driven.press("D")
        assert "No trial yet. r runs 16 of them." in driven.text


async def test_of_a_task_that_cannot_be_run_the_grid_says_why() -> None:
    unreadable = ev.TaskUnreadable(at=1.0, task=TASK, reason="there is no task.toml")
    async with opened(Stream().engine().add(unreadable)) as driven:
        screen = driven.app.screen
        assert isinstance(screen, MainScreen)
        screen.show_trials("oracle")
        await driven.settle()
        assert "The task cannot be run: there is no task.toml" in driven.text
        assert "Reading the task" not in driven.text


async def test_presenting_says_less_in_larger_letters() -> None:
    async with opened(many_trials()) as driven:
        await driven.press("D", "P")
        assert "✓ PASSED  1" in driven.text
        assert "┏━┓ ┏━╸" in driven.text
        assert "working on it" not in driven.text
        assert "waiting" not in driven.text
        await driven.press("P")
        assert "working on it" in driven.text


async def test_a_trial_is_chosen_by_keys_and_looked_at() -> None:
    async with opened(many_trials(), (100, 40)) as driven:
        await driven.press("D", "right", "right", "down", "down", "enter")
        assert "3 Run · oracle · 2 of 16" in driven.text


async def test_looking_where_no_trial_is_selected_is_looking_at_the_first() -> None:
    async with opened(many_trials(), (100, 40)) as driven:
        await driven.press("D", "enter")
        assert "3 Run · oracle · 9 of 16" in driven.text


async def test_a_trial_is_chosen_by_the_mouse_and_looked_at() -> None:
    async with opened(many_trials(), (100, 40)) as driven:
        await driven.press("D")
        await driven.pilot.click("TrialBoard", offset=(60, 7))
        await driven.pilot.click("TrialBoard", offset=(60, 7), times=2)
        await driven.settle()
        assert "3 Run · oracle · 2 of 16" in driven.text


async def test_a_demo_begins_with_the_grid_and_asks_for_its_trials() -> None:
    source = RecordedSource(many_trials().events)
    demo = Demo("oracle", 16, large=True)
    app = WorkbenchApp(source, Path(TASK), paused=True, demo=demo, clock=lambda: many_trials().now)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: source.all_taken and app.up_to_date)
        await until(pilot, lambda: "✓ PASSED  1" in screen_text(app))
        assert source.sent == [
            wishes.OpenTask(task=TASK, watch=False, replay=False),
            wishes.Repeat(task=TASK, case="oracle", times=16),
        ]


async def test_an_engine_that_ended_leaves_its_trials_on_the_grid() -> None:
    async with opened(many_trials()) as driven:
        await driven.press("D")
        driven.source.die(-9)
        await driven.settle()
        await until(driven.pilot, lambda: "0 running" in driven.text)
        assert "12 of 12 done" in driven.text
        assert "○ no engine" in driven.text.splitlines()[0]
        assert re.search("– +9 cancelled", driven.text)


def test_a_tally_counts_only_what_took_place() -> None:
    assert tally([], 0.0).total == 0
    dropped = Run("a", TASK, "oracle", state="ended", outcome=Outcome(kind="cancelled", reason=""))
    assert tally([dropped], 0.0).total == 0
    runs = [
        Run(str(n), TASK, "oracle", state="ended", started_at=0.0, ended_at=float(n), outcome=passed())
        for n in range(1, 21)
    ]
    together = tally(runs, 100.0)
    assert (together.done, together.median, together.p95) == (20, 10.5, 19.0)
    assert (together.seconds, together.busy) == (20.0, 210.0)


def test_the_time_between_two_goes_of_trials_is_none_of_theirs() -> None:
    lasted = [(0.0, 4.0), (1.0, 3.0), (100.0, 102.0), (101.0, None)]
    runs = [
        Run(str(n), TASK, "oracle", state="ended" if end else "running", started_at=start, ended_at=end)
        for n, (start, end) in enumerate(lasted)
    ]
    together = tally(runs, 105.0)
    assert (together.seconds, together.busy) == (9.0, 12.0)


def test_the_last_line_is_found_across_pieces_and_made_harmless() -> None:
    run = Run("a", TASK, "oracle")
    assert last_line(run) == ""
    for text in ("first\nsec", "ond \x1b[31mred\x1b[0m \x1b[2J", "\n", "  \n"):
        run.output.append(ev.Output(run="a", source="agent", text=text))
    assert last_line(run) == "second red ␛[2J"


@sizes
def test_grid(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert compare(snap_compare, many_trials(), size, "D", "right", "down")


@sizes
def test_presenting(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert compare(snap_compare, many_trials(), size, "D", "P")


@pytest.mark.parametrize("theme", ["day", "ember", "contrast"])
def test_grid_in_other_themes(snap_compare: Compare, theme: str) -> None:
    assert compare(snap_compare, many_trials(), (100, 30), "D", theme=theme)


@sizes
def test_empty_grid(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert compare(snap_compare, Stream().engine().task(), size, "D")
