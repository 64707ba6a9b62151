"""The main screen: what it shows of a stream, and the wishes that its keys send."""

from __future__ import annotations

import pytest
from textual.command import CommandList

from tests.ui.driving import app_for, opened, screen_text, until
from tests.ui.streams import CASES, PASSING, TASK, RecordedSource, Stream, failed, holding, passed
from workbench import events as ev
from workbench import wishes
from workbench.task.problem import Problem
from workbench.trials.outcome import Outcome
from workbench.ui.widgets.case_list import CaseList

OPENED = wishes.OpenTask(task=TASK, watch=True, replay=True)


async def test_a_task_is_opened_watched_and_replayed() -> None:
    async with opened(Stream()) as driven:
        assert driven.source.sent == [OPENED]


async def test_a_paused_task_is_opened_without_watching_or_replaying() -> None:
    async with opened(Stream(), paused=True) as driven:
        assert driven.source.sent == [wishes.OpenTask(task=TASK, watch=False, replay=False, cached=True)]


@pytest.mark.parametrize(
    ("keys", "wish"),
    [
        (["r"], wishes.Replay(task=TASK, cases=("oracle",))),
        (["down", "down", "r"], wishes.Replay(task=TASK, cases=("truncates-title",))),
        (["j", "j", "k", "r"], wishes.Replay(task=TASK, cases=("nop",))),
        (["G", "r"], wishes.Replay(task=TASK, cases=("keeps-accents",))),
        (["a"], wishes.Replay(task=TASK)),
        (["f5"], wishes.Replay(task=TASK)),
        (["X"], wishes.Cancel(task=TASK)),
        (["p"], wishes.SetWatching(task=TASK, watching=False)),
    ],
)
async def test_a_key_sends_its_wish(keys: list[str], wish: wishes.Wish) -> None:
    async with opened(holding()) as driven:
        await driven.press(*keys)
        assert driven.source.sent == [OPENED, wish]


@pytest.mark.parametrize(
    ("command", "wish"),
    [
        ("Run all", wishes.Replay(task=TASK)),
        ("Cancel all", wishes.Cancel(task=TASK)),
        ("Pause", wishes.SetWatching(task=TASK, watching=False)),
    ],
)
async def test_the_palette_does_what_the_key_does(command: str, wish: wishes.Wish) -> None:
    def first() -> str:
        hits = driven.app.screen.query_one(CommandList)
        return str(hits.get_option_at_index(0).prompt) if hits.option_count else ""

    async with opened(holding()) as driven:
        await driven.press("ctrl+p", *command)
        await until(driven.pilot, lambda: first().startswith(command))
        await driven.press("enter")
        await until(driven.pilot, lambda: driven.source.sent[-1] == wish)


async def test_a_click_on_a_case_selects_it_and_goes_to_its_run() -> None:
    async with opened(holding()) as driven:
        await driven.pilot.click("Cases", offset=(6, 2))
        await driven.settle()
        assert "3 Run · truncates-title" in driven.text
        assert driven.app.focused is not None
        assert driven.app.focused.id == "verifier-output"


async def test_a_click_on_the_footer_does_what_its_key_does() -> None:
    async with opened(holding()) as driven:
        await driven.pilot.click("Footer", offset=(8, 0))
        await driven.settle()
        assert driven.source.sent[-1] == wishes.Replay(task=TASK)


async def test_watching_that_was_paused_is_resumed() -> None:
    stream = holding().add(ev.WatchingChanged(task=TASK, watching=False))
    async with opened(stream) as driven:
        assert "○ not watching" in driven.text
        await driven.press("p")
        assert driven.source.sent[-1] == wishes.SetWatching(task=TASK, watching=True)


async def test_only_what_is_unmet_runs_again() -> None:
    stream = Stream().engine().task()
    stream.whole("oracle", passed()).whole("nop", failed())
    stream.whole("hard-coded", Outcome(kind="passed", reason="graded 1.0", reward=1.0, met=False))
    async with opened(stream) as driven:
        await driven.press("f")
        again = wishes.Replay(task=TASK, cases=("truncates-title", "hard-coded", "keeps-accents"))
        assert driven.source.sent[-1] == again


async def test_cancel_speaks_of_the_run_that_lasts() -> None:
    stream = holding().queue("oracle", "oracle-2").start("oracle", "oracle-2")
    async with opened(stream) as driven:
        await driven.press("comma", "x")
        assert driven.source.sent[-1] == wishes.Cancel(task=TASK, run="oracle-2")


async def test_cancelling_what_does_not_run_sends_nothing() -> None:
    async with opened(holding()) as driven:
        await driven.press("x")
        assert driven.source.sent == [OPENED]
        assert "This case does not run." in driven.text


async def test_the_provider_the_verdict_and_watching_are_shown_at_every_size() -> None:
    for size in ((160, 50), (120, 40), (100, 30), (80, 24), (60, 20), (44, 12)):
        async with opened(holding(), size) as driven:
            assert "bubblewrap: namespaces, not a VM" in driven.text, size
            assert "HOLDS 5/5" in driven.text, size
            assert "● watching" in driven.text, size
            assert "oracle" in driven.text, size


async def test_a_row_tells_expectation_reward_outcome_phases_and_time() -> None:
    async with opened(holding()) as driven:
        row = next(line for line in driven.text.splitlines() if "truncates-title" in line)
        cells = row.split("││")[0].split()
        assert cells[1:6] == ["✓", "truncates-title", "fail", "0.0", "failed"]
        assert cells[6] == "┄┄┄┄─━━━━━━━"
        assert cells[7:9] == ["1.36", "s"]


async def test_a_running_case_tells_its_phase_and_how_long() -> None:
    stream = Stream().engine().task().queue("oracle").start("oracle")
    stream.phase("oracle-1", "environment").wait(0.5).phase("oracle-1", "agent").wait(2.0)
    async with opened(stream) as driven:
        row = next(line for line in driven.text.splitlines() if " oracle " in line and "pass" in line)
        assert "agent" in row
        assert "2.50 s" in row


async def test_output_comes_as_it_is_printed_and_is_followed() -> None:
    stream = Stream().engine().task().queue("oracle").start("oracle").phase("oracle-1", "verifier")
    async with opened(stream) as driven:
        assert "The verifier has printed nothing so far." in driven.text
        for number in range(200):
            driven.source.feed(ev.Output(run="oracle-1", source="verifier", text=f"line {number}\n"))
        await driven.settle()
        assert "line 199" in driven.text
        assert "200 lines · following" in driven.text


async def test_scrolling_up_stops_following_and_the_end_key_resumes_it() -> None:
    stream = Stream().engine().task().queue("oracle").start("oracle").phase("oracle-1", "verifier")
    stream.print("oracle-1", "".join(f"line {number}\n" for number in range(200)))
    async with opened(stream) as driven:
        await driven.press("3", "pageup")
        driven.source.feed(ev.Output(run="oracle-1", source="verifier", text="the newest\n"))
        await driven.settle()
        assert "the newest" not in driven.text
        assert "following" not in driven.text
        await driven.press("end")
        assert "the newest" in driven.text
        assert "following" in driven.text


async def test_the_verdict_comes_with_its_reason_and_its_case_is_one_key_away() -> None:
    stream = holding().verdict("cannot fail", "hard-coded must fail, but passed", 4, 5, "hard-coded")
    async with opened(stream) as driven:
        assert "✗ CANNOT FAIL 4/5  hard-coded must fail, but passed" in driven.text
        await driven.press("d")
        assert "3 Run · hard-coded" in driven.text


async def test_no_problem_is_told_only_of_files_that_were_read() -> None:
    none = "none found in the task's files"
    async with opened(Stream().engine()) as driven:
        assert "the files have not been looked through" in driven.text
        assert "to run this case" not in driven.text
        driven.source.feed(*Stream().task().events)
        await driven.settle()
        assert none in driven.text
    made = ev.TaskOpened(task=TASK, name="job", image="2 trials", threshold=1.0, trials_dir=TASK)
    stream = Stream().engine().add(made).add(ev.CasesFound(task=TASK, cases=CASES[:2]))
    async with opened(stream) as driven:
        assert none not in driven.text
        assert "No wrong solution is tried yet" not in driven.text


async def test_problems_tell_where_what_and_what_to_do() -> None:
    problem = Problem("tests/test.sh", "crlf", "error", "the line ends in CR", "press f to convert it", 1)
    for size in ((160, 50), (100, 30)):
        async with opened(Stream().engine().task(problems=(problem,)), size) as driven:
            await driven.press("2")
            assert "✗ tests/test.sh:1  error: the line ends in CR" in driven.text
            assert "press f to convert it" in driven.text


async def test_older_runs_are_a_key_away() -> None:
    stream = holding().whole("oracle", failed("reward 0.0: worse now"), "second output\n", run="oracle-2")
    async with opened(stream) as driven:
        assert "3 Run · oracle · 2 of 2" in driven.text
        assert "second output" in driven.text
        await driven.press("comma")
        assert "3 Run · oracle · 1 of 2" in driven.text
        assert "6 passed" in driven.text
        await driven.press("full_stop")
        assert "second output" in driven.text


async def test_an_older_run_stays_in_sight_while_a_new_one_begins() -> None:
    stream = holding().whole("oracle", passed(), "second output\n", run="oracle-2")
    async with opened(stream) as driven:
        await driven.press("comma")
        driven.source.feed(ev.RunQueued(task=TASK, case="oracle", run="oracle-3"))
        await driven.settle()
        assert "3 Run · oracle · 1 of 3" in driven.text


async def test_a_dead_engine_is_said_and_a_key_starts_another() -> None:
    stream = holding().queue("oracle", "oracle-2").start("oracle", "oracle-2")
    async with opened(stream) as driven:
        driven.source.feed(
            ev.EngineFailed(message="the engine was killed by SIGKILL", hint="its log is engine.log")
        )
        driven.source.die(-9)
        await driven.settle()
        assert "the engine was killed by SIGKILL; its log is engine.log" in driven.text
        assert "R starts another engine" in driven.text
        assert "6 passed" in driven.text or "the engine ended before this run did" in driven.text
        await driven.press("R")
        assert driven.source.starts == 2
        assert driven.source.sent[-1] == OPENED
        driven.source.feed(*Stream(stream.now).engine().events)
        await driven.settle()
        assert "starts another engine" not in driven.text


async def test_an_engine_that_does_not_start_is_said() -> None:
    app = app_for(Stream(), RecordedSource(fails="[Errno 28] No space left on device"))
    async with app.run_test(size=(160, 50)) as pilot:
        await until(pilot, lambda: "No space left on device" in screen_text(app))
        assert "R starts another engine" in screen_text(app)


async def test_an_engine_that_runs_is_not_started_again() -> None:
    async with opened(holding()) as driven:
        await driven.press("R")
        assert driven.source.starts == 1


async def test_an_unreadable_task_says_why() -> None:
    stream = Stream().engine().add(ev.TaskUnreadable(task=TASK, reason="task.toml:3: a key without a value"))
    async with opened(stream) as driven:
        assert "The task cannot be run: task.toml:3: a key without a value" in driven.text


async def test_quitting_ends_the_engine() -> None:
    async with opened(holding()) as driven:
        await driven.pilot.press("q")
    assert driven.source.stopped


async def test_the_help_lists_every_command_with_its_keys_and_filters() -> None:
    async with opened(holding()) as driven:
        await driven.press("question_mark")
        assert "Run every case of the task." in driven.text
        await driven.press(*"cancel")
        assert "Cancel everything that runs or waits." in driven.text
        assert "Run every case of the task." not in driven.text
        await driven.press("escape")
        assert "Cancel everything" not in driven.text


async def test_notices_are_toasts() -> None:
    async with opened(holding()) as driven:
        driven.source.feed(ev.Notice(level="warning", message="the disk is nearly full [/] \x1b[2J"))
        await driven.settle()
        assert "the disk is nearly full [/] ␛[2J" in driven.text


async def test_a_task_without_wrong_solutions_is_told_how_to_write_one() -> None:
    async with opened(Stream().engine().task(CASES[:2])) as driven:
        assert "No wrong solution is tried yet." in driven.text
        assert "negatives/NAME/solve.sh" in " ".join(driven.text.split())
    async with opened(holding()) as driven:
        assert "No wrong solution" not in driven.text


async def test_a_long_headline_leaves_room_for_the_output_on_a_small_screen() -> None:
    stream = Stream().engine().task()
    notes = tuple(
        f"{what} is not enforced by bubblewrap, whatever it is set to" for what in ("cpus", "memory_mb")
    )
    reason = "reward 0, below 1: " + ", ".join(f"test_of_thing_number_{number}" for number in range(7))
    outcome = Outcome(kind="failed", reason=reason, reward=0.0, met=False, notes=notes)
    stream.whole("oracle", outcome, PASSING)
    async with opened(stream) as driven:
        assert "test_of_thing_number_6" in driven.text
        assert "! cpus is not enforced" in driven.text
        for size in ((80, 24), (60, 20), (100, 30)):
            await driven.pilot.resize_terminal(*size)
            if size == (60, 20):
                await driven.press("3")
            await until(driven.pilot, lambda: "collected 6 items" in driven.text)
            assert "verifier  agent  tests" in driven.text
            assert "FAILED  must pass  reward 0, below 1" in driven.text


@pytest.mark.parametrize("key", ["r", "a", "p", "t", "X", "s", "S"])
async def test_what_takes_an_engine_is_refused_after_one_has_ended(key: str) -> None:
    async with opened(holding(), (60, 20)) as driven:
        driven.source.die(-9)
        await until(driven.pilot, lambda: "The engine has ended" in driven.text)
        sent = len(driven.source.sent)
        await driven.press(key)
        (told,) = driven.app.told
        assert told.message.startswith("No engine runs that could")
        assert told.message.endswith("; R starts another engine.")
        assert len(driven.source.sent) == sent
        assert "nop" in driven.text  # nothing else took the place of the cases


async def test_what_goes_on_before_the_cases_are_known_is_said_as_it_is() -> None:
    stream = Stream()
    async with opened(stream) as driven:

        async def told(*events: ev.Event) -> str:
            driven.source.feed(*events)
            await driven.settle()
            assert "run this case" not in driven.text
            assert "none found" not in driven.text
            assert "the files have not been looked through" in driven.text
            return driven.text

        assert "Starting the engine ..." in await told()
        started, chosen = Stream().engine().events
        assert "Finding out what makes machines here ..." in await told(started)
        assert "Reading the task ..." in await told(chosen)
        assert "No case is known." in await told(ev.TaskUnreadable(at=1.0, task=TASK, reason="it is a file"))
        problems = ev.ProblemsFound(at=1.0, task=TASK, problems=())
        driven.source.feed(problems, *Stream().engine().task().events)
        await until(driven.pilot, lambda: "✓ none found in the task's files" in driven.text)
        assert "Press r to run this case" in driven.text


async def test_no_case_is_said_to_be_read_once_no_engine_reads() -> None:
    async with opened(Stream().engine()) as driven:
        driven.source.die(-9)
        await until(driven.pilot, lambda: "The engine has ended" in driven.text)
        assert "No case is known." in driven.text
        assert "..." not in driven.text


@pytest.mark.parametrize(("downs", "then"), [(1, "truncates-title"), (4, "hard-coded")])
async def test_where_the_selected_case_goes_the_one_that_takes_its_place_is_selected(
    downs: int, then: str
) -> None:
    async with opened(holding()) as driven:
        await driven.press(*["down"] * downs)
        gone = driven.app.screen.query_one(CaseList).selected
        left = tuple(case for case in CASES if case.name != gone)
        driven.source.feed(ev.CasesFound(at=1.0, task=TASK, cases=left))
        await driven.settle()
        assert driven.app.screen.query_one(CaseList).selected == then
        assert f"3 Run · {then}" in driven.text
