"""Two runs side by side."""

from __future__ import annotations

from pathlib import Path
from threading import Event

import msgspec
import pytest

from tests.ui.driving import Driven, opened, until
from tests.ui.streams import PASSING, TASK, Stream, failed, holding, passed
from tests.ui.trials import agent_step, at, trajectory, trial
from workbench import events as ev
from workbench import wishes
from workbench.cases.case import Case
from workbench.trials.outcome import Outcome, Phase, Test
from workbench.ui.compare.aligned_view import AlignedView
from workbench.ui.screens import compare as compare_screen


async def compared(driven: Driven, *keys: str) -> None:
    await driven.press(*keys)
    await until(driven.pilot, lambda: not [w for w in driven.app.workers if w.group != "events"])


def marked(driven: Driven) -> list[str]:
    """The cases that have a marked run."""
    rows = [line for line in driven.text.splitlines() if "◆" in line]
    return [row.strip("│▌ ").split()[1] for row in rows]


def compared_names(driven: Driven) -> list[str]:
    """How the left and the right run are called."""
    return [side.partition("  ")[0].strip() for side in driven.text.splitlines()[0].split("│")]


async def test_a_case_is_held_against_the_oracle_when_it_ran_once() -> None:
    async with opened(holding()) as driven:
        await compared(driven, "j", "j", "c")
        first = driven.text.splitlines()[0]
        assert first.split("│")[0].split()[:2] == ["oracle", "✓"]
        assert first.split("│")[1].split()[0] == "truncates-title"
        assert "difference 1 of 2" in driven.text


async def test_a_run_is_held_against_the_one_before_it() -> None:
    stream = holding().whole("nop", failed(), "other output\n", run="nop-2")
    async with opened(stream) as driven:
        await compared(driven, "j", "c")
        assert driven.text.splitlines()[0].startswith(" nop · 1  ")
        assert "│ nop · 2  " in driven.text


async def test_a_marked_run_is_the_baseline_and_the_mark_is_seen() -> None:
    async with opened(holding()) as driven:
        await driven.press("j", "space", "j")
        assert "◆" in next(line for line in driven.text.splitlines() if "│ ✓ nop" in line)
        await compared(driven, "c")
        assert driven.text.splitlines()[0].startswith(" nop ")


@pytest.mark.parametrize("last", ["k", "j"])
async def test_two_marked_runs_are_compared_the_one_marked_first_on_the_left(last: str) -> None:
    async with opened(holding()) as driven:
        await driven.press("j", "j", "space", "k", "space", last)
        assert marked(driven) == ["nop", "truncates-title"]
        await compared(driven, "c")
        assert compared_names(driven) == ["truncates-title", "nop"]


async def test_two_marked_runs_are_compared_when_a_third_is_shown() -> None:
    async with opened(holding().whole("nop", failed(), run="nop-2")) as driven:
        await driven.press("space", "j", "space", "j", "j")
        await compared(driven, "c")
        assert compared_names(driven) == ["oracle", "nop · 2"]


async def test_two_runs_of_a_case_can_be_marked() -> None:
    stream = holding().whole("nop", failed(), run="nop-2").whole("nop", failed(), run="nop-3")
    async with opened(stream) as driven:
        await driven.press("j", "space", "comma", "comma", "space")
        await compared(driven, "c")
        assert compared_names(driven) == ["nop · 3", "nop · 1"]


async def test_a_run_and_the_same_one_recalled_are_marked_each_by_itself() -> None:
    again = ev.RunRecalled(
        task=TASK, case="nop", run="again", outcome=failed(), ran_at=0.0, trial_dir="/nowhere/nop-1"
    )
    async with opened(holding().add(again)) as driven:
        await driven.press("space", "j", "space")
        await compared(driven, "c")
        assert compared_names(driven) == ["oracle", "nop · 2"]


async def test_a_third_mark_takes_the_first_away_and_says_so() -> None:
    async with opened(holding()) as driven:
        await driven.press("space", "j", "space")
        assert not driven.app.told
        await driven.press("j", "space")
        assert driven.app.told[-1].message == "Two runs at most are marked: oracle no longer is."
        assert marked(driven) == ["nop", "truncates-title"]


async def test_a_mark_is_taken_back_by_the_same_key() -> None:
    async with opened(holding()) as driven:
        await driven.press("j", "space", "space")
        assert marked(driven) == []


async def test_of_two_marks_the_one_that_is_not_taken_back_stays() -> None:
    async with opened(holding()) as driven:
        await driven.press("space", "j", "space", "k", "space", "j", "j")
        assert marked(driven) == ["nop"]
        await compared(driven, "c")
        assert compared_names(driven) == ["nop", "truncates-title"]


async def test_swap_makes_the_other_one_the_baseline() -> None:
    async with opened(holding()) as driven:
        await compared(driven, "j", "c")
        await compared(driven, "x")
        assert driven.text.splitlines()[0].startswith(" nop ")


async def test_differing_lines_have_signs_and_n_goes_to_them() -> None:
    async with opened(holding()) as driven:
        await compared(driven, "j", "j", "c")
        assert any(" ≠ tests/test_outputs.py ..F..." in line for line in driven.text.splitlines())
        assert any(" > E       AssertionError" in line for line in driven.text.splitlines())
        assert "difference 1 of 2" in driven.text
        await driven.press("n")
        assert "difference 2 of 2" in driven.text
        await driven.press("n")
        assert "difference 1 of 2" in driven.text
        await driven.press("N")
        assert "difference 2 of 2" in driven.text


@pytest.mark.parametrize("size", [(160, 30), (80, 24)])
async def test_long_lines_are_read_to_their_end_on_both_sides(size: tuple[int, int]) -> None:
    wide = "\x1b[1m中\x1b[0m\tx " * 20
    stream = Stream().engine().task().whole("oracle", passed(), f"{wide} left end\n")
    stream.whole("nop", failed(), f"{wide} right end\n")
    async with opened(stream, size=size) as driven:
        await compared(driven, "j", "c")
        await compared(driven, *["right"] * 200)
        assert "left end" in driven.text
        await compared(driven, "o")
        assert "right end" in driven.text
        view = next(iter(driven.app.screen.query(AlignedView)))
        column = view.size.width // 2 if view.beside else view.size.width
        assert view.virtual_size.width <= 20 * 10 + 10 + view.size.width - column + 5


async def test_where_there_is_room_for_one_only_a_key_shows_the_other() -> None:
    async with opened(holding(), (80, 24)) as driven:
        await compared(driven, "j", "j", "c")
        assert "left only" in driven.text
        assert "FAILURES" not in driven.text
        await driven.press("o")
        assert "right only" in driven.text
        assert "FAILURES" in driven.text


async def test_tests_stand_by_name_with_both_results_those_that_differ_first() -> None:
    def outcome(*statuses: str) -> Outcome:
        tests = tuple(
            Test(name, status, "it was cut" if status == "failed" else "")  # type: ignore[arg-type]
            for name, status in zip(("test_words", "test_long", "test_new"), statuses, strict=False)
        )
        return Outcome(kind="failed", reason="", reward=0.0, met=True, tests=tests)

    stream = Stream().engine().task()
    stream.whole("oracle", outcome("passed", "passed")).whole("nop", outcome("passed", "failed", "skipped"))
    async with opened(stream) as driven:
        await compared(driven, "j", "c", "right_square_bracket", "right_square_bracket")
        rows = [line.strip("│ ") for line in driven.text.splitlines() if "test_" in line]
        assert [row.split() for row in rows] == [
            ["✓", "passed", "✗", "failed", "≠", "test_long", "it", "was", "cut"],
            ["not", "there", "-", "skipped", "≠", "test_new"],
            ["✓", "passed", "✓", "passed", "test_words"],
        ]


async def test_tests_of_one_name_stand_each_beside_its_own() -> None:
    def outcome(*statuses: str) -> Outcome:
        tests = tuple(
            Test("test_count", status, f"it {status}\n\x1b[1mat line 3", step=step)  # type: ignore[arg-type]
            for status, step in zip(statuses, ("first", "first", "then"), strict=False)
        )
        return Outcome(kind="failed", reason="", reward=0.0, met=True, tests=tests)

    stream = Stream().engine().task()
    stream.whole("oracle", outcome("passed", "failed", "passed")).whole("nop", outcome("failed", "failed"))
    async with opened(stream) as driven:
        await compared(driven, "j", "c", "right_square_bracket", "right_square_bracket")
        rows = [" ".join(line.strip("│ ").split()) for line in driven.text.splitlines() if "test_" in line]
        assert rows == [
            "✓ passed ✗ failed ≠ first: test_count it failed",
            "✓ passed not there ≠ then: test_count it passed",
            "✗ failed ✗ failed first: test_count it failed",
        ]


async def test_swapping_swaps_the_tests_too() -> None:
    ours = Outcome(kind="passed", reason="", reward=1.0, met=True, tests=(Test("test_a", "passed"),))
    theirs = Outcome(kind="failed", reason="", reward=0.0, met=True, tests=(Test("test_a", "failed"),))
    stream = Stream().engine().task().whole("oracle", ours).whole("nop", theirs)
    async with opened(stream) as driven:
        await compared(driven, "j", "c", *["right_square_bracket"] * 2)
        assert "✓ passed    ✗ failed    ≠ test_a" in driven.text
        await compared(driven, "x")
        assert "✗ failed    ✓ passed    ≠ test_a" in driven.text


async def test_where_neither_run_named_tests_that_is_said() -> None:
    async with opened(holding()) as driven:
        await compared(driven, "j", "c", *["right_square_bracket"] * 2)
        assert "Neither run has anything here." in driven.text


async def test_where_one_run_has_nothing_to_compare_that_is_said() -> None:
    stream = Stream().engine().task().whole("oracle", passed(), PASSING).whole("nop", failed())
    async with opened(stream) as driven:
        await compared(driven, "j", "c")
        assert "the right run has nothing here" in driven.text
        await compared(driven, "x")
        assert "the left run has nothing here" in driven.text


def recalled(case: str, outcome: Outcome) -> ev.RunRecalled:
    """A run of which nothing but the outcome is here."""
    return ev.RunRecalled(
        task=TASK, case=case, run=f"{case}-0", outcome=outcome, ran_at=0.0, trial_dir=f"/nowhere/{case}-0"
    )


@pytest.mark.parametrize("size", [(120, 34), (80, 24)])
async def test_what_is_not_here_is_not_told_as_a_difference(size: tuple[int, int]) -> None:
    stream = Stream().engine().task().whole("nop", failed(), PASSING).add(recalled("nop", failed()))
    async with opened(stream, size=size) as driven:
        await compared(driven, "j", "c")
        assert "6 passed" in driven.text
        assert "not compared: the right run's is not here" in driven.text
        assert not any(sign in driven.text for sign in "<≠")
        if size == (80, 24):
            await driven.press("o")
        assert "What this run left is not here" in driven.text
        await compared(driven, "x")
        assert "not compared: the left run's is not here" in driven.text
        assert not any(sign in driven.text for sign in ">≠")
        await driven.press("n")
        assert driven.app.told[-1].message == "There is nothing to compare."


async def test_where_nothing_of_either_run_is_here_both_say_so() -> None:
    stream = Stream().engine().task().add(recalled("oracle", passed())).add(recalled("nop", failed()))
    async with opened(stream) as driven:
        await compared(driven, "j", "c")
        for _ in range(2):
            assert "not compared: neither run's is here" in driven.text
            assert driven.text.count("What this run left is not here") == 2
            await compared(driven, *["right_square_bracket"] * 3)


async def test_what_the_outcome_tells_of_runs_that_are_not_here_is_compared() -> None:
    def outcome(status: str) -> Outcome:
        return failed("reward 0.0", Test("test_a", status))  # type: ignore[arg-type]

    stream = Stream().engine().task().add(recalled("oracle", outcome("passed")))
    async with opened(stream.add(recalled("nop", outcome("failed")))) as driven:
        await compared(driven, "j", "c", *["right_square_bracket"] * 2)
        assert "✓ passed    ✗ failed    ≠ test_a" in driven.text


async def test_an_agent_that_did_not_run_is_not_said_to_be_gone() -> None:
    phases = (Phase("environment", 0.0, 1.0), Phase("verifier", 1.0, 2.0))
    nop = msgspec.structs.replace(failed(), phases=phases)
    async with opened(Stream().engine().task().whole("oracle", passed()).add(recalled("nop", nop))) as driven:
        await compared(driven, "j", "c", "right_square_bracket")
        assert "Neither run has anything here." in driven.text


async def test_nothing_is_said_of_runs_before_they_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    may_read = Event()
    monkeypatch.setattr(compare_screen, "lines", lambda *_: [""] if may_read.wait(30) else [])
    async with opened(holding()) as driven:
        await driven.press("j", "c")
        assert "Side by side" in driven.text
        assert "Neither run" not in driven.text
        may_read.set()
        await until(driven.pilot, lambda: "no difference" in driven.text)


async def test_timings_share_one_scale() -> None:
    stream = Stream().engine().task()
    stream.whole("oracle", passed(), environment=1.0, agent=0.5, verifier=0.5)
    stream.whole("nop", failed(), environment=0.5, agent=0.25, verifier=0.25)
    async with opened(stream) as driven:
        await compared(driven, "j", "c", *["right_square_bracket"] * 4)
        bars = [line for line in driven.text.splitlines() if "━━" in line]
        long, short = (sum(line.count(sign) for sign in "┄─━") for line in bars)
        assert abs(long - 2 * short) <= 1
        row = next(line for line in driven.text.splitlines() if "environment" in line)
        assert row.strip("│ ").split() == ["┄", "environment", "1.00", "s", "0.50", "s", "-0.50", "s"]


async def test_what_took_as_long_in_both_differs_by_nothing() -> None:
    stream = Stream().engine().task()
    stream.whole("oracle", passed(), environment=1.0, agent=0.5, verifier=0.5)
    stream.whole("nop", failed(), environment=1.001, agent=0.25, verifier=0.75)
    async with opened(stream) as driven:
        await compared(driven, "j", "c", *["right_square_bracket"] * 4)
        row = next(line for line in driven.text.splitlines() if "environment" in line)
        assert row.strip("│ ").split() == ["┄", "environment", "1.00", "s", "1.00", "s", "="]


async def test_two_runs_of_a_case_with_a_long_name_are_told_apart_by_their_timing() -> None:
    case = Case("a-wrong-solution-with-a-long-name", "negative", "fail")
    stream = Stream().engine().task((case,))
    for number in (1, 2):
        stream.whole(case.name, failed(), run=f"run-{number}")
    async with opened(stream, size=(60, 20)) as driven:
        await compared(driven, "c", *["right_square_bracket"] * 4)
        bars = [line for line in driven.text.splitlines() if "━━" in line]
        assert ["· 1 " in bars[0], "· 2 " in bars[1]] == [True, True]


async def test_what_is_printed_meanwhile_is_compared_too() -> None:
    stream = holding().queue("nop", "nop-2").start("nop", "nop-2").phase("nop-2", "verifier")
    async with opened(stream) as driven:
        await compared(driven, "j", "c")
        driven.source.feed(ev.Output(run="nop-2", source="verifier", text="a line of its own\n"))
        await driven.settle()
        await until(driven.pilot, lambda: "a line of its own" in driven.text)


async def test_one_run_alone_cannot_be_compared() -> None:
    async with opened(Stream().engine().task().whole("oracle", passed())) as driven:
        await driven.press("c")
        assert driven.app.told[-1].message.startswith("Nothing to compare this run with")


async def test_trajectories_and_files_are_compared_from_the_trial_directories(tmp_path: Path) -> None:
    for name, command, size in (("oracle-1", "ls", 10), ("nop-1", "rm -rf /", 2000)):
        agent = tmp_path / name / "agent"
        agent.mkdir(parents=True)
        step = (
            '{"step_id": 1, "source": "agent", "message": "", "tool_calls": [{"tool_call_id": "c",'
            f' "function_name": "bash", "arguments": {{"command": "{command}"}}}}]}}'
        )
        (agent / "trajectory.json").write_text(f'{{"schema_version": "ATIF-v1.8", "steps": [{step}]}}')
        (agent / "out.bin").write_bytes(b"\0" * size)
    stream = Stream().engine().task().whole("oracle", passed()).whole("nop", failed())
    for run in ("oracle-1", "nop-1"):
        at(stream, run, tmp_path / run)
    async with opened(stream) as driven:
        await compared(driven, "j", "c", *["right_square_bracket"] * 3)
        assert "agent: bash ls" in driven.text
        assert "≠ agent: bash rm -rf /" in driven.text
        await compared(driven, *["right_square_bracket"] * 2)
        assert "agent/out.bin  10 B" in driven.text
        assert "≠ agent/out.bin  2.0 KiB" in driven.text


async def test_equal_commands_with_other_results_differ(tmp_path: Path) -> None:
    stream = Stream().engine().task().whole("oracle", passed()).whole("nop", failed())
    for run, result in (("oracle-1", "3 files"), ("nop-1", "no files")):
        directory = trial(tmp_path / run, agent__trajectory_json=trajectory(agent_step(1, "ls", result)))
        at(stream, run, directory)
    async with opened(stream) as driven:
        await compared(driven, "j", "c", *["right_square_bracket"] * 3)
        assert "│ agent: bash ls" in driven.text
        assert "≠     no files" in driven.text
        assert "difference 1 of 1" in driven.text


async def test_a_command_of_many_lines_is_compared_line_by_line(tmp_path: Path) -> None:
    stream = Stream().engine().task().whole("oracle", passed()).whole("nop", failed())
    for run, word in (("oracle-1", "right"), ("nop-1", "wrong")):
        written = "".join(f"line {number}\n" for number in range(60)) + f"{word} answer\n"
        step = agent_step(1, f"cat > answer << END\n{written}END", "")
        step["tool_calls"].append(
            {"tool_call_id": "e", "function_name": "edit", "arguments": {"path": "a", "text": f"of\n{word}"}}
        )
        step["observation"]["results"][0]["content"] = written
        at(stream, run, trial(tmp_path / run, agent__trajectory_json=trajectory(step)))
    async with opened(stream) as driven:
        await compared(driven, "j", "c", *["right_square_bracket"] * 3)
        assert "≠   > wrong answer" in driven.text
        assert "│   > END" in driven.text
        assert "│ agent: edit path: a" in driven.text
        assert "difference 1 of 3" in driven.text
        await compared(driven, "n", "n")
        assert "≠     wrong answer" in driven.text


async def test_equal_commands_with_other_words_or_exit_codes_differ(tmp_path: Path) -> None:
    stream = Stream().engine().task().whole("oracle", passed()).whole("nop", failed())
    for run, words, code in (("oracle-1", "I look.", 0), ("nop-1", "I guess.", 1)):
        step = agent_step(1, "ls", "", message=words)
        step["observation"]["results"][0]["extra"] = {"exit_code": code, "seconds": 0.1 + code}
        at(stream, run, trial(tmp_path / run, agent__trajectory_json=trajectory(step)))
    async with opened(stream) as driven:
        await compared(driven, "j", "c", *["right_square_bracket"] * 3)
        assert "≠     I guess." in driven.text
        assert ">     exit code 1" in driven.text


def long_trajectories(root: Path, differing: int | None) -> Stream:
    """Two runs of 200 steps each, of which one may differ."""
    stream = Stream().engine().task().whole("oracle", passed()).whole("nop", failed())
    for run in ("oracle-1", "nop-1"):
        steps = [agent_step(number, f"cat {number}.txt", f"text {number}") for number in range(200)]
        if differing is not None and run == "nop-1":
            steps[differing] = agent_step(differing, "rm -rf /", f"text {differing}")
        at(stream, run, trial(root / run, agent__trajectory_json=trajectory(*steps)))
    return stream


async def test_trajectories_stand_at_their_first_difference_and_say_so(tmp_path: Path) -> None:
    async with opened(long_trajectories(tmp_path, 150)) as driven:
        await compared(driven, "j", "c", *["right_square_bracket"] * 3)
        assert "≠ agent: bash rm -rf /" in driven.text
        assert "difference 1 of 1" in driven.text
        await driven.pilot.resize_terminal(160, 16)
        await until(driven.pilot, lambda: driven.app.size.height == 16)
        await until(driven.pilot, lambda: "≠ agent: bash rm -rf /" in driven.text)


async def test_trajectories_that_do_not_differ_stand_at_their_top(tmp_path: Path) -> None:
    async with opened(long_trajectories(tmp_path, None)) as driven:
        await compared(driven, "j", "c", *["right_square_bracket"] * 3)
        assert "agent: bash cat 0.txt" in driven.text
        assert "no difference" in driven.text


async def test_output_stands_at_its_first_difference_too_as_long_as_nobody_scrolls() -> None:
    same = [f"line {number}\n" for number in range(300)]
    stream = Stream().engine().task().whole("oracle", passed(), "".join(same) + "the oracle's end\n")
    stream.queue("nop").start("nop").phase("nop-1", "verifier")
    async with opened(stream) as driven:

        async def printed(text: str) -> None:
            driven.source.feed(ev.Output(run="nop-1", source="verifier", text=text))
            await driven.settle()

        await printed("".join(same[:100]))
        await compared(driven, "j", "c")
        await until(driven.pilot, lambda: "line 100" in driven.text)
        await printed("".join(same[100:]))
        await until(driven.pilot, lambda: "the oracle's end" in driven.text)
        await driven.press("g")
        await printed("another end\n")
        view = driven.app.screen.query_one("#compare-verifier AlignedView", AlignedView)
        await until(driven.pilot, lambda: view.virtual_size.height == 301 and "1 difference" in driven.text)
        assert "line 0" in driven.text
        assert "the oracle's end" not in driven.text


def earlier(task: str, case: str, trial_dir: Path, outcome: Outcome, at: float) -> ev.EarlierRun:
    (trial_dir / "verifier").mkdir(parents=True)
    (trial_dir / "verifier" / "test-stdout.txt").write_text(f"printed in {trial_dir.name}\n")
    return ev.EarlierRun(
        task=task, case=case, expect="fail", at=at, trial_dir=str(trial_dir), outcome=outcome
    )


async def test_any_run_of_any_day_and_task_can_be_the_baseline(tmp_path: Path) -> None:
    stream = holding()
    week = 7 * 24 * 3600
    kept = (
        earlier(TASK, "nop", tmp_path / "last-week", failed(), stream.now - week),
        earlier("/tasks/prices", "drops-words", tmp_path / "elsewhere", passed(), stream.now - 60),
    )
    async with opened(stream) as driven:
        await driven.press("j", "C")
        assert driven.source.sent[-1] == wishes.TellEarlierRuns(task=TASK)
        assert "prices" not in driven.text
        driven.source.feed(ev.EarlierRunsTold(task=TASK, runs=kept))
        await driven.settle()
        row = next(line for line in driven.text.splitlines() if "prices · drops-words" in line)
        assert "passed · 60 s ago" in row
        await compared(driven, *"prices", "enter")
        left, right = driven.text.splitlines()[0].split("│")
        assert left.split()[:3] == ["prices", "·", "drops-words"]
        assert right.split()[:3] == ["slugify", "·", "nop"]
        assert "printed in elsewhere" in driven.text
        await driven.press("escape", "C", *"nop")
        await compared(driven, "enter")
        left, right = driven.text.splitlines()[0].split("│")
        assert left.split()[0] == right.split()[0] == "nop"
        assert "◷ 7 days ago" in left
        assert "printed in last-week" in driven.text


async def test_all_other_runs_of_a_job_are_offered_and_read_differently() -> None:
    cases = tuple(
        Case(f"tests/{task} · {agent}", "agent", None)
        for task in ("compile-the-linux-kernel-in-a-container", "fix-the-history-of-a-repository")
        for agent in ("claude-code claude-opus-4-1", "claude-code claude-sonnet-4-5")
    )
    stream = Stream().engine().task(cases)
    for at_, case in enumerate(cases):
        for number in range(4):
            stream.whole(case.name, passed(), run=f"{at_}-{number}")
    async with opened(stream, (110, 40)) as driven:
        await driven.press("C")
        rows = [line.partition("│ run ")[2] for line in driven.text.splitlines() if "│ run " in line]
        assert len({row.partition("  passed ")[0] for row in rows}) == 15
        await driven.press(*"kernsonnet")
        found = [line for line in driven.text.splitlines() if "│ run " in line]
        assert ["sonne" in line for line in found] == [True] * 4
        await compared(driven, "enter")
        left, right = driven.text.splitlines()[0].split("│")
        assert "sonne" in left
        assert "✓ passed" in left
        assert "opus" in right
        assert "✓ passed" in right


async def test_escape_goes_back_to_the_task() -> None:
    async with opened(holding()) as driven:
        await compared(driven, "j", "c", "escape")
        assert "1 Cases" in driven.text
