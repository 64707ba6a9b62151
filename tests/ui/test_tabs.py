"""What there is to know of a run, tab by tab."""

from __future__ import annotations

import asyncio
import errno
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ui.driving import Driven, opened, until
from tests.ui.streams import PASSING, TASK, Stream, holding, passed
from tests.ui.trials import agent_step, at, raised, trajectory, trial
from workbench import events as ev
from workbench import wishes
from workbench.cases.case import Case
from workbench.settings import Loaded, Settings
from workbench.trials.outcome import Outcome, Phase, StepOutcome, Test
from workbench.ui.panes.run_pane import RunPane
from workbench.ui.slices import in_slices
from workbench.ui.tabs import output
from workbench.ui.widgets.case_list import Cases
from workbench.ui.widgets.line_list import LineList
from workbench.ui.widgets.log_view import LogView
from workbench.ui.widgets.test_list import TestList

TABS = ("verifier", "agent", "tests", "trajectory", "timing", "files", "log")


async def show(driven: Driven, tab: str, *keys: str) -> str:
    """Go to a tab of the selected run, and press more keys there."""
    await driven.press(*["right_square_bracket"] * TABS.index(tab))
    await idle(driven)
    for key in ("3", *keys) if keys else ():
        await driven.press(key)
        await idle(driven)
    return driven.text


async def idle(driven: Driven) -> None:
    await until(driven.pilot, lambda: not [w for w in driven.app.workers if w.group != "events"])
    await driven.settle()


async def test_tabs_are_clicked_too() -> None:
    async with opened(holding()) as driven:
        await driven.pilot.click("#--content-tab-tab-timing")
        await idle(driven)
        assert "of machine time" in driven.text


async def test_the_agents_output_has_a_tab() -> None:
    stream = Stream().engine().task().queue("oracle").start("oracle").phase("oracle-1", "agent")
    stream.print("oracle-1", "+ python3 slugify.py\n", "agent")
    async with opened(stream) as driven:
        assert "The verifier prints nothing now: this is the agent phase." in driven.text
        assert "+ python3 slugify.py" in await show(driven, "agent")


async def test_what_did_not_run_is_not_said_to_have_printed_nothing() -> None:
    stream = Stream().engine().task().queue("oracle").start("oracle").phase("oracle-1", "environment")
    stream.end("oracle", Outcome(kind="error", reason="the environment did not start"))
    async with opened(stream) as driven:
        assert "The verifier did not run." in driven.text
        assert "The agent did not run." in await show(driven, "agent")
        await driven.press("right_square_bracket")
        assert "No test ran: the run ended before its verifier began." in driven.text


async def test_what_an_agent_of_harbors_printed_is_read_from_its_own_file(tmp_path: Path) -> None:
    logs = tmp_path / "agent"
    logs.mkdir()
    (logs / "exit-code.txt").write_text("0")
    (logs / "claude-code.txt").write_text("I have read the tests\n")
    claude = Case("claude-code", "agent", None)
    stream = Stream().engine().task().add(ev.CasesFound(task=TASK, cases=(claude,)))
    stream.queue("claude-code", "1")
    stream.add(ev.RunStarted(at=stream.now, task=TASK, case="claude-code", run="1", trial_dir=str(tmp_path)))
    async with opened(stream.phase("1", "agent")) as driven:
        assert "What an agent prints is shown when it has ended" in await show(driven, "agent")
        driven.source.feed(ev.RunEnded(task=TASK, case="claude-code", run="1", outcome=passed()))
        await until(driven.pilot, lambda: "I have read the tests" in driven.text)


async def test_tests_are_listed_failures_first_with_messages() -> None:
    tests = (
        Test("test_words", "passed", seconds=0.25),
        Test("test_slow", "skipped", "needs a network"),
        Test("test_long", "failed", "AssertionError: it was cut\nat line 3", 0.5),
        Test("test_setup", "error", "fixture 'x' not found"),
    )
    stream = Stream().engine().task()
    stream.whole("oracle", Outcome(kind="failed", reason="graded 0.0", reward=0.0, met=False, tests=tests))
    async with opened(stream) as driven:
        text = await show(driven, "tests")
        assert "tests 2 ✗" in text
        assert "! 1 error   ✗ 1 failed   - 1 skipped   ✓ 1 passed   0.75 s" in text
        names = ["test_setup", "test_long", "test_slow", "test_words"]
        assert sorted(names, key=text.index) == names
        assert "fixture 'x' not found" in text
        await driven.press("3", "j")
        await until(driven.pilot, lambda: "at line 3" in driven.text)


async def test_steps_have_a_tab_only_where_there_are_steps() -> None:
    async with opened(holding()) as driven:
        assert "steps" not in driven.text
    steps = (StepOutcome("build", 1.0), StepOutcome("deploy", None, reason="the step did not begin"))
    stream = Stream().engine().task()
    stream.events[-4] = ev.TaskOpened(at=0, task=TASK, name="demo/x", steps=("build", "deploy"))
    stream.whole("oracle", Outcome(kind="failed", reason="", reward=0.5, met=False, steps=steps))
    async with opened(stream) as driven:
        await driven.press(*["right_square_bracket"] * 3)
        await idle(driven)
        assert "1  build  reward 1.0" in driven.text
        assert "2  deploy  ? no result: Harbor leaves it out of the mean" in driven.text
        assert "the step did not begin" in driven.text


async def test_timing_marks_what_is_slower_than_usual() -> None:
    stream = Stream().engine().task()
    for number in range(3):
        stream.whole("oracle", passed(), run=f"oracle-{number}", verifier=1.0)
    stream.whole("oracle", passed(), run="oracle-9", verifier=4.0)
    async with opened(stream) as driven:
        text = await show(driven, "timing")
        row = next(line for line in text.splitlines() if "usually 1.00 s" in line)
        assert "━ verifier" in row
        assert "4.00 s" in row
        assert "slow: 4.0 times as long" in row


async def test_cases_of_alike_names_are_told_apart_by_their_timing() -> None:
    stream = Stream().engine()
    names = [f"organisation/benchmark-task · claude-code a-model-of-{size}" for size in ("one", "two")]
    stream.task(tuple(Case(name, "agent", None) for name in names))
    for name in names:
        stream.whole(name, passed())
    async with opened(stream, size=(100, 30)) as driven:
        await driven.press("colon", *"timing", "enter")
        await idle(driven)
        bars = [line for line in driven.text.splitlines() if "━━" in line and "…" in line]
        assert ["one" in bars[0], "two" in bars[1]] == [True, True]


async def test_timing_is_held_against_runs_of_earlier_days(tmp_path: Path) -> None:
    stream = Stream().engine().task().whole("oracle", passed(), verifier=4.0)
    async with opened(stream) as driven:
        await show(driven, "timing")
        assert driven.source.sent[-1] == wishes.TellEarlierRuns(task=TASK)
        phases = (Phase("verifier", 100.0, 101.0),)
        outcome = Outcome(kind="passed", reason="graded 1.0", reward=1.0, met=True, phases=phases)
        kept = tuple(
            ev.EarlierRun(
                task=TASK, case="oracle", expect="pass", at=at, trial_dir=f"/kept/{at}", outcome=outcome
            )
            for at in (200.0, 100.0)
        )
        driven.source.feed(ev.EarlierRunsTold(task=TASK, runs=kept))
        await driven.settle()
        assert "slow: 4.0 times as long" in next(
            line for line in driven.text.splitlines() if "usually 1.00 s" in line
        )
        assert "the last 3 runs, 1.00 s to" in driven.text


async def test_a_trajectory_is_read_step_by_step(tmp_path: Path) -> None:
    steps = [
        {"step_id": 1, "source": "user", "message": "Write a slugify program."},
        agent_step(2, "ls -la", "total 0\x1b[2J", message="I look.", reasoning_content="First, look."),
        agent_step(3, "cat x", "found the needle", metrics={"prompt_tokens": 1200, "completion_tokens": 80}),
    ]
    final = {"total_prompt_tokens": 1200, "total_completion_tokens": 80, "total_cost_usd": 0.5}
    directory = trial(tmp_path, agent__trajectory_json=trajectory(*steps, final_metrics=final))
    async with opened(at(holding(), "oracle-1", directory)) as driven:
        text = await show(driven, "trajectory", "j")
        assert "claude-code 2.1 opus · 3 steps · 1,200 in, 80 out, $0.5000 · ATIF-v1.8" in text
        assert "● agent  bash ls -la" in text
        for part in (
            "reasoning",
            "First, look.",
            "I look.",
            "▶ bash",
            "command: ls -la",
            "◀ result",
            "total 0␛[2J",
        ):
            assert part in text
        text = await show(driven, "verifier", "l")
        assert "found the needle" in text
        await driven.press("slash", *"needle", "enter")
        await idle(driven)
        assert "bash ls -la" not in driven.text
        assert "bash cat x" in driven.text
        await driven.press("slash", "escape")
        await idle(driven)
        assert "bash ls -la" in driven.text


def three_steps(root: Path) -> Stream:
    """A run whose agent took three steps, the second with a long result."""
    results = ("one", "\n".join(f"line {number}" for number in range(100)), "three")
    steps = [agent_step(number, f"cat {number}", result) for number, result in enumerate(results, 1)]
    return at(holding(), "oracle-1", trial(root, agent__trajectory_json=trajectory(*steps)))


async def test_from_the_text_of_a_step_one_goes_on_to_others_and_back_to_the_steps(tmp_path: Path) -> None:
    async with opened(three_steps(tmp_path)) as driven:
        await show(driven, "trajectory", "enter", "j")
        assert "step 1 · agent" in driven.text
        await driven.press("l")
        assert "step 2 · agent" in driven.text
        await driven.press("G")
        assert "line 99" in driven.text
        await driven.press("l")
        assert "step 3 · agent" in driven.text
        await driven.press("h")
        assert "step 2 · agent" in driven.text
        assert isinstance(driven.app.focused, LogView)
        await driven.press("escape")
        assert isinstance(driven.app.focused, LineList)
        await driven.press("escape")
        assert isinstance(driven.app.focused, Cases)


async def test_the_keys_that_a_user_gave_to_the_steps_work_in_their_text(tmp_path: Path) -> None:
    moved = Loaded(Settings(keys={"trajectory.next": "ctrl+n", "reading.leave": "b"}), (), ())
    async with opened(three_steps(tmp_path), settings=moved) as driven:
        await show(driven, "trajectory", "enter", "l")
        assert "step 1 · agent" in driven.text
        await driven.press("ctrl+n")
        assert "step 2 · agent" in driven.text
        await driven.press("b")
        assert isinstance(driven.app.focused, LineList)


async def test_escape_from_a_text_that_fills_the_screen_makes_it_smaller_first(tmp_path: Path) -> None:
    async with opened(three_steps(tmp_path)) as driven:
        await show(driven, "trajectory", "enter", "z", "escape")
        assert driven.app.screen.maximized is None
        assert isinstance(driven.app.focused, LogView)


async def test_the_log_has_all_of_a_reason_that_is_too_long_for_the_headline() -> None:
    reason = "graded 0.0; these must fail: " + ", ".join(f"test_number_{number}" for number in range(40))
    outcome = Outcome(kind="failed", reason=reason, reward=0.0, met=False)
    async with opened(Stream().engine().task().whole("oracle", outcome)) as driven:
        assert "test_number_39" not in driven.text
        assert "test_number_39" in await show(driven, "log")


async def test_what_a_trajectory_says_of_itself_stands_at_its_first_step(tmp_path: Path) -> None:
    whole = trajectory(agent_step(1, "ls", ""), agent_step(2, "cat", ""), notes="not told apart: set -v")
    async with opened(at(holding(), "oracle-1", trial(tmp_path, agent__trajectory_json=whole))) as driven:
        assert "not told apart: set -v" in await show(driven, "trajectory")
        await driven.press("3", "j")
        await idle(driven)
        assert "not told apart" not in driven.text


async def test_a_test_that_was_tried_again_says_how_often() -> None:
    tests = (Test("test_waits", "passed", seconds=1.0, reruns=2), Test("test_adds", "passed"))
    outcome = Outcome(kind="passed", reason="graded 1.0", reward=1.0, met=True, tests=tests)
    async with opened(Stream().engine().task().whole("oracle", outcome)) as driven:
        text = await show(driven, "tests")
        assert "tried 3 times" in next(line for line in text.splitlines() if "test_waits" in line)
        assert "tried" not in next(line for line in text.splitlines() if "test_adds" in line)


async def test_all_of_a_test_s_message_is_read_and_searched() -> None:
    message = "\n".join(f"line {number} of what it says" for number in range(3000))
    tests = (Test("test_long", "failed", message), Test("test_quiet", "passed"))
    outcome = Outcome(kind="failed", reason="graded 0.0", reward=0.0, met=False, tests=tests)
    async with opened(Stream().engine().task().whole("oracle", outcome)) as driven:
        await show(driven, "tests")
        await driven.press("3", "enter")
        await driven.press("G")
        await until(driven.pilot, lambda: "line 2999 of what it says" in driven.text)
        await driven.press("slash", *"line 1234", "enter")
        await until(driven.pilot, lambda: "line 1234 of what it says" in driven.text)
        await driven.press("escape")
        assert isinstance(driven.app.focused, TestList)
        await driven.press("j")
        await until(driven.pilot, lambda: "It said nothing." in driven.text)
        await driven.press("escape")
        assert isinstance(driven.app.focused, Cases)


async def test_every_one_of_many_tests_can_be_gone_to() -> None:
    tests = tuple(Test(f"test_{number}", "passed") for number in range(20_000))
    outcome = Outcome(kind="passed", reason="graded 1.0", reward=1.0, met=True, tests=tests)
    async with opened(Stream().engine().task().whole("oracle", outcome)) as driven:
        await show(driven, "tests")
        await driven.press("3", "G")
        assert "✓ passed  test_19999" in driven.text


async def test_a_trajectory_shows_as_it_grows(tmp_path: Path) -> None:
    stream = Stream().engine().task().queue("oracle").start("oracle").phase("oracle-1", "agent")
    directory = trial(tmp_path, agent__trajectory_json=trajectory(agent_step(1, "ls", "a")))
    async with opened(at(stream, "oracle-1", directory)) as driven:
        assert "bash ls" in await show(driven, "trajectory")
        trial(
            tmp_path, agent__trajectory_json=trajectory(agent_step(1, "ls", "a"), agent_step(2, "cat", "b"))
        )
        stream.wait(2)
        driven.source.feed(ev.Output(run="oracle-1", source="agent", text="something\n"))
        await until(driven.pilot, lambda: "bash cat" in driven.text)
        # Whoever looks at the last step goes along.
        assert "step 2 · agent" in driven.text


async def test_steps_of_subagents_stand_below_the_step_that_called_them(tmp_path: Path) -> None:
    inner = trajectory(agent_step(1, "grep needle", "found")) | {"trajectory_id": "searcher"}
    refs = [{"trajectory_id": "searcher"}]
    outer = agent_step(1, "delegate", "done")
    outer["observation"]["results"][0]["subagent_trajectory_ref"] = refs
    document = trajectory(outer, agent_step(2, "finish", ""), subagent_trajectories=[inner])
    directory = trial(tmp_path, agent__trajectory_json=document)
    async with opened(at(holding(), "oracle-1", directory)) as driven:
        text = await show(driven, "trajectory", "j")
        rows = [line for line in text.splitlines() if "agent  bash" in line]
        assert ["delegate" in rows[0], "↳ searcher" in rows[1], "finish" in rows[2]] == [True] * 3
        assert "grep needle" in rows[1]
        assert "1 subagent" in text
        assert "step 1 · searcher · agent" in text


async def test_every_step_of_a_task_has_its_trajectory(tmp_path: Path) -> None:
    directory = trial(
        tmp_path,
        steps__first__agent__trajectory_json=trajectory(agent_step(1, "one", "")),
        steps__second__agent__trajectory_json=trajectory(agent_step(1, "two", "")),
    )
    async with opened(at(holding(), "oracle-1", directory)) as driven:
        text = await show(driven, "trajectory")
        for step, command in (("first", "one"), ("second", "two")):
            assert any(step in line and f"bash {command}" in line for line in text.splitlines())


async def test_a_trajectory_in_which_no_agent_has_acted_so_far_is_no_script_s(tmp_path: Path) -> None:
    told = trajectory({"step_id": 1, "source": "user", "message": "Count the words."})
    async with opened(at(holding(), "oracle-1", trial(tmp_path, agent__trajectory_json=told))) as driven:
        text = await show(driven, "trajectory")
        assert "Count the words." in text
        assert "script" not in text


async def test_a_broken_trajectory_says_what_is_wrong(tmp_path: Path) -> None:
    directory = trial(tmp_path, agent__trajectory_json="{")
    async with opened(at(holding(), "oracle-1", directory)) as driven:
        assert "trajectory.json is no ATIF trajectory" in await show(driven, "trajectory")


async def test_no_trajectory_says_why(tmp_path: Path) -> None:
    async with opened(at(holding(), "oracle-1", tmp_path)) as driven:
        assert "No trajectory here. Negatives leave one" in await show(driven, "trajectory")
    moved = Loaded(Settings(keys={"trace.toggle": "f6"}), (), ())
    async with opened(at(holding(), "oracle-1", tmp_path), settings=moved) as driven:
        assert "when traced: f6, then r" in await show(driven, "trajectory")


async def test_of_a_run_that_waits_and_of_an_agent_nothing_is_advised_for_scripts(tmp_path: Path) -> None:
    agent = Case("solver", "agent", None)
    stream = Stream().engine().task((agent,)).queue("solver")
    async with opened(stream) as driven:
        assert "It waits for its turn." in await show(driven, "trajectory")
    stream.whole("solver", passed(), PASSING)
    async with opened(at(stream, "solver-1", tmp_path)) as driven:
        said = await show(driven, "trajectory")
        assert "No trajectory here." in said
        assert "Negatives" not in said


async def test_a_tab_that_has_a_pane_of_its_own_is_not_gone_through() -> None:
    for size, last in (((160, 50), "log"), ((80, 24), "problems")):
        async with opened(holding(), size) as driven:
            await driven.press("3", "left_square_bracket")
            assert driven.app.screen.query_one(RunPane).tab == last
            await driven.press("right_square_bracket")
            assert driven.app.screen.query_one(RunPane).tab == "verifier"


async def test_files_are_listed_artifacts_first_and_shown_in_colours(tmp_path: Path) -> None:
    manifest = [{"source": "/app/gone.txt", "destination": "artifacts/app/gone.txt", "status": "failed"}]
    directory = trial(
        tmp_path,
        artifacts__manifest_json=manifest,
        agent__solve_py="import sys\n",
        agent__pic_png=b"\x89PNG\r\n\x1a\n" + b"0" * 100,
    )
    os.symlink("/etc/passwd", tmp_path / "agent" / "way")
    async with opened(at(holding(), "oracle-1", directory)) as driven:
        text = await show(driven, "files")
        assert "✗ missing   artifact /app/gone.txt" in text
        assert "agent/way → /etc/passwd" in " ".join(text.split()).replace("→  ", "→ ")
        text = await show(driven, "verifier", "j")
        assert "agent/pic.png: PNG image, 108 B" in text
        text = await show(driven, "verifier", "j")
        assert "import sys" in text


async def test_the_log_begins_with_what_was_raised(tmp_path: Path) -> None:
    async with opened(raised(tmp_path)) as driven:
        text = await show(driven, "log")
        assert "log !" in text
        order = [
            "EnvironmentStartTimeoutError: the environment did not start",
            "Traceback: boom",
            "Collecting",
        ]
        assert [text.index(part) for part in order] == sorted(text.index(part) for part in order)


def recalled(directory: Path) -> Stream:
    stream = Stream().engine().task()
    return stream.add(
        ev.RunRecalled(
            at=stream.now,
            task=TASK,
            case="oracle",
            run="earlier",
            outcome=passed(),
            ran_at=stream.now - 600,
            trial_dir=str(directory),
        )
    )


async def test_the_log_has_what_a_step_raised_in_harbors_own_words(tmp_path: Path) -> None:
    info = {"exception_type": "ValueError", "exception_traceback": "Traceback: in build\n"}
    steps = [{"step_name": "build", "exception_info": info}, {"step_name": "use", "exception_info": None}]
    directory = trial(tmp_path, result_json={"step_results": steps})
    async with opened(at(holding(), "oracle-1", directory)) as driven:
        text = await show(driven, "log")
        assert text.index("step build raised") < text.index("Traceback: in build")
        assert "step use" not in text


async def test_an_exception_without_plain_words_is_named_once() -> None:
    step = StepOutcome("build", None, exception="ValueError", reason="ValueError: boom")
    outcome = Outcome(kind="error", reason="ValueError: boom", exception="ValueError", steps=(step,))
    async with opened(Stream().engine().task().whole("oracle", outcome)) as driven:
        for tab in ("steps", "log"):
            await driven.press("colon", *tab, "enter")
            await idle(driven)
            _, of_tab = driven.text.split(" log !")
            assert of_tab.count("ValueError: ") == 1


async def test_output_that_the_stream_did_not_bring_is_read_from_the_trial_directory(tmp_path: Path) -> None:
    async with opened(recalled(trial(tmp_path, **{"verifier__test-stdout_txt": "kept on disk\n"}))) as driven:
        await idle(driven)
        assert "kept on disk" in driven.text


@pytest.mark.parametrize(("kept", "said"), [("kept\n", "kept"), ("", "The verifier printed nothing.")])
async def test_nothing_is_said_of_what_is_still_being_read(
    kept: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_go_on = asyncio.Event()

    async def when_allowed(work: Iterator[object]) -> None:
        await may_go_on.wait()
        await in_slices(work)

    monkeypatch.setattr(output, "in_slices", when_allowed)
    async with opened(recalled(trial(tmp_path, **{"verifier__test-stdout_txt": kept}))) as driven:
        assert "printed" not in driven.text
        may_go_on.set()
        await until(driven.pilot, lambda: said in driven.text)


async def test_output_of_every_step_is_read_in_the_order_in_which_they_ran(tmp_path: Path) -> None:
    directory = trial(
        tmp_path,
        **{f"steps__{name}__verifier__test-stdout_txt": f"of {name}\n" for name in ("build", "setup", "use")},
        **{f"steps__{name}__agent__oracle_txt": f"for {name}\n" for name in ("build", "setup", "use")},
        result_json={"step_results": [{"step_name": name} for name in ("setup", "build", "use")]},
    )
    async with opened(recalled(directory)) as driven:
        await idle(driven)
        parts = ("of setup", "of build", "of use")
        assert sorted(parts, key=driven.text.index) == [*parts]
        assert "3 lines" in driven.text
        assert "for setup" in await show(driven, "agent")


async def test_output_that_may_not_be_read_is_said_to_be_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = trial(tmp_path, **{"verifier__test-stdout_txt": "kept on disk\n"})
    may_open: Any = Path.open

    def refused(path: Path, *args: Any, **options: Any) -> Any:
        if tmp_path in path.parents:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return may_open(path, *args, **options)

    monkeypatch.setattr(Path, "open", refused)
    async with opened(recalled(directory)) as driven:
        await idle(driven)
        assert "The file cannot be read: Permission denied." in driven.text


async def test_of_an_earlier_run_whose_directory_is_not_here_nothing_is_said_that_nobody_knows() -> None:
    stream = Stream().engine().task()
    earlier = {"task": TASK, "case": "oracle", "run": "earlier", "trial_dir": "/no/such/trial"}
    stream.add(ev.RunRecalled(at=stream.now, outcome=passed(), ran_at=stream.now - 600, **earlier))
    async with opened(stream) as driven:
        for tab in ("verifier", "agent", "trajectory", "files", "log"):
            await show(driven, tab)
            assert "What this run left is not here" in driven.text, tab
            assert not re.search("printed nothing|No trajectory|no files|logged nothing", driven.text), tab
            await driven.press(*["left_square_bracket"] * TABS.index(tab))


async def test_of_output_that_was_too_much_to_keep_all_is_there_when_the_run_has_ended(
    tmp_path: Path,
) -> None:
    many = "".join(f"line {number} {'x' * 90}\n" for number in range(200_000))
    directory = trial(tmp_path, **{"verifier__test-stdout_txt": many})
    stream = Stream().engine().task().queue("oracle").start("oracle").phase("oracle-1", "verifier")
    async with opened(at(stream, "oracle-1", directory)) as driven:
        for start in range(0, len(many), 1_000_000):
            driven.source.feed(ev.Output(run="oracle-1", source="verifier", text=many[start:][:1_000_000]))
            await driven.settle()
        await until(driven.pilot, lambda: "earlier ones dropped" in driven.text)
        driven.source.feed(ev.RunEnded(task=TASK, case="oracle", run="oracle-1", outcome=passed()))
        await until(driven.pilot, lambda: "200,000 lines ─" in driven.text)


async def test_a_run_that_ended_while_another_tab_was_shown_is_complete(tmp_path: Path) -> None:
    stream = Stream().engine().task().queue("oracle").start("oracle").phase("oracle-1", "verifier")
    async with opened(stream) as driven:
        await show(driven, "tests")
        driven.source.feed(ev.Output(run="oracle-1", source="verifier", text=PASSING))
        driven.source.feed(ev.RunEnded(task=TASK, case="oracle", run="oracle-1", outcome=passed()))
        await driven.settle()
        await driven.press("left_square_bracket", "left_square_bracket")
        await idle(driven)
        assert "6 passed" in driven.text
