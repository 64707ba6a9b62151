"""The stream as lines of text, for those who do not look at a screen."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import msgspec
import pytest

from tests.ui.streams import TASK, RecordedSource, Stream, broken, cannot_fail, failed, holding, passed
from tests.ui.trials import two_trials
from workbench import events as ev
from workbench import wishes
from workbench.cases.case import Case
from workbench.trials.outcome import Test
from workbench.ui import plain
from workbench.ui.plain import PlainFace

OPENING = wishes.OpenTask(task=TASK)


async def told(source: RecordedSource, *asked: str) -> list[str]:
    """What is said of a stream, and then in answer to lines that are typed."""
    said: list[str] = []

    async def typed() -> AsyncIterator[str]:
        await _until(lambda: source.all_taken)
        for line in asked:
            yield line
            await _until(lambda: source.all_taken)

    await PlainFace(source, Path(TASK), said.append).show(OPENING, typed())
    return said


async def answer(stream: Stream, asked: str) -> list[str]:
    """What is said when this is asked."""
    before = await told(RecordedSource(stream.events))
    return (await told(RecordedSource(stream.events), asked))[len(before) :]


async def _until(condition: Callable[[], bool]) -> None:
    for _ in range(10_000):
        await asyncio.sleep(0)
        if condition():
            return
    raise AssertionError("it never came to be")


async def test_every_change_is_said_once_in_words() -> None:
    said = await told(RecordedSource(holding().events))
    assert said[1:6] == [
        "machines: bubblewrap: namespaces, not a VM",
        "task: demo/slugify",
        "5 cases: oracle, nop, truncates-title, hard-coded, keeps-accents",
        "watching",
        "oracle: started",
    ]
    assert "oracle: passed, as it must: reward 1.0; 1.31 s" in said
    assert "nop: failed, as it must: reward 0.0; 1.04 s" in said
    assert said[-1] == "verdict: holds, 5 of 5: all 5 cases came out as they must"


async def test_problems_tell_their_place_and_what_to_do() -> None:
    said = await told(RecordedSource(broken().events))
    assert "error: task.toml:12:1: unknown key `timout_sec`; did you mean `timeout_sec`?" in said
    assert "oracle: failed, which it must not: solve.sh exited with 1; graded 0.0; 1.20 s" in said


async def test_what_is_said_again_unchanged_is_not_repeated() -> None:
    stream = Stream().engine().task().task()
    said = await told(RecordedSource(stream.events))
    assert said.count("task: demo/slugify") == 1


async def test_what_is_typed_becomes_wishes() -> None:
    source = RecordedSource(holding().queue("oracle", "oracle-2").start("oracle", "oracle-2").events)
    said = await told(source, "r", "r nop", "f", "x oracle", "x nop", "x", "p")
    assert source.sent == [
        OPENING,
        wishes.Replay(task=TASK),
        wishes.Replay(task=TASK, cases=("nop",)),
        wishes.Cancel(task=TASK, run="oracle-2"),
        wishes.Cancel(task=TASK),
        wishes.SetWatching(task=TASK, watching=False),
    ]
    assert said[-2:] == ["every case came out as it must", "nop does not run"]


async def test_the_cases_that_are_not_as_they_must_be_are_run() -> None:
    source = RecordedSource(cannot_fail().events)
    await told(source, "f")
    (wish,) = source.sent[1:]
    assert isinstance(wish, wishes.Replay)
    assert "hard-coded" in wish.cases
    assert "oracle" not in wish.cases


async def test_what_happens_again_is_said_again() -> None:
    stream = Stream().engine().task()
    for number in (1, 2):
        stream.whole("oracle", passed(), run=f"oracle-{number}")
        stream.add(ev.Notice(level="info", message="nothing runs here"))
    said = await told(RecordedSource(stream.events))
    assert said.count("info: nothing runs here") == 2
    assert [line for line in said if line.startswith("oracle")] == [
        "oracle: started",
        "oracle: passed, as it must: reward 1.0; 1.31 s",
        "oracle 2: started",
        "oracle 2: passed, as it must: reward 1.0; 1.31 s",
    ]


async def test_output_that_the_stream_did_not_bring_is_read_from_the_trial_directory(tmp_path: Path) -> None:
    (tmp_path / "verifier").mkdir()
    (tmp_path / "verifier/test-stdout.txt").write_text("kept\n")
    stream = Stream().engine().task()
    recalled = ev.RunRecalled(
        task=TASK, case="oracle", run="1", outcome=passed(), ran_at=0.0, trial_dir=str(tmp_path)
    )
    said = await told(RecordedSource(stream.add(recalled).events), "o oracle")
    assert said[-1] == "kept"


async def test_output_that_is_not_kept_any_more_is_not_said_to_be_none() -> None:
    recalled = ev.RunRecalled(
        task=TASK, case="oracle", run="1", outcome=passed(), ran_at=0.0, trial_dir="/no/such/trial"
    )
    stream = Stream().engine().task().add(recalled)
    for asked in ("o oracle", "a oracle", "c oracle"):
        (said,) = await answer(stream, asked)
        assert said.startswith("What this run left is not here")


def test_input_that_is_a_file_is_read_to_its_end(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for path in (Path(os.devnull), tmp_path / "asked.txt"):
        if path.parent == tmp_path:
            path.write_text("p\n")
        source = RecordedSource(holding().events)
        with path.open() as file:
            monkeypatch.setattr(sys, "stdin", file)
            plain.run(source, Path(TASK))
        assert source.stopped
    assert source.sent[-1] == wishes.SetWatching(task=TASK, watching=True)


async def test_output_tests_and_standing_are_read_on_request() -> None:
    stream = Stream().engine().task().whole("oracle", passed(), "one\n\x1b[31mtwo\x1b[0m\x1b]0;three\x07\n")
    said = await told(RecordedSource(stream.events), "o oracle", "o nop", "t oracle", "l", "v")
    assert said[-10:] == [
        "one",
        "two␛]0;three␇",
        "nop: not run",
        "no tests are named",
        "oracle: passed, as it must: reward 1.0; 1.31 s",
        "nop: not run",
        "truncates-title: not run",
        "hard-coded: not run",
        "keeps-accents: not run",
        "verdict: none yet",
    ]


async def test_what_an_agent_did_what_it_changed_and_where_its_time_went_are_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    stream = two_trials()
    assert await answer(stream, "a nop") == [
        "user: Write a program that makes slugs of titles.",
        "agent: bash rm -rf /app",
        "    gone",
    ]
    files = await answer(stream, "c oracle")
    assert files[:2] == ["artifact /logs/artifacts  empty", "artifact /app/report.md  missing"]
    assert "agent/slugify.py  70 B" in files
    assert await answer(stream, "w nop") == [
        "environment: 0.42 s",
        "agent: 0.11 s",
        "verifier: 0.51 s",
    ]


async def test_two_runs_are_told_apart_in_words(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    stream = two_trials()
    said = await answer(stream, "d nop")
    assert said == await answer(stream, "d nop oracle")
    assert said[:2] == ["left is oracle, right is nop", "verifier's output: 10 differences"]
    assert said[said.index("trajectory: 6 differences") :][:5] == [
        "trajectory: 6 differences",
        "left, line 2: agent: bash ls -la /app",
        "right, line 2: agent: bash rm -rf /app",
        "left, line 3:     I look around first.",
        "right, line 3:     gone",
    ]
    assert "right, line 1: agent/trajectory.json  439 B" in said
    assert (await answer(stream, "d nop hard-coded"))[1] == "verifier's output: the same"
    assert await answer(stream, "d nop nosuch") == ["there is no case nop nosuch"]
    assert await answer(stream, "o nop oracle") == ["there is no case nop oracle"]


async def test_what_is_not_here_is_not_said_to_differ() -> None:
    stream = Stream().engine().task().whole("oracle", passed(), "1 passed\n")
    gone = ev.RunRecalled(
        task=TASK, case="oracle", run="oracle-2", outcome=passed(), ran_at=0.0, trial_dir="/no/such/trial"
    )
    assert await answer(stream.add(gone), "d oracle") == [
        "left is oracle 1, right is oracle 2",
        "verifier's output: not compared: the right run's is not here",
    ]


async def test_a_run_is_told_apart_from_the_one_before() -> None:
    stream = Stream().engine().task().whole("oracle", passed(), "same\n1 passed in 0.02 s\n")
    assert await answer(stream, "d oracle") == ["there are no two runs to compare"]
    stream.whole("oracle", passed(), "same\n1 passed in 0.31 s\nmore\n", run="oracle-2")
    assert await answer(stream, "d oracle") == [
        "left is oracle 1, right is oracle 2",
        "verifier's output: 1 difference",
        "right, line 3: more",
    ]


def three_runs() -> Stream:
    """A case that passed, failed and passed."""
    stream = Stream().engine().task()
    for number, outcome in enumerate((passed(), failed(), passed()), 1):
        stream.whole("oracle", outcome, f"output of {number}\n", run=f"oracle-{number}")
    return stream


async def test_a_run_is_named_by_a_number_after_its_case() -> None:
    stream = three_runs()
    assert await answer(stream, "o oracle") == ["output of 3"]
    assert await answer(stream, "o oracle 1") == ["output of 1"]
    assert await answer(stream, "w oracle 2") == await answer(stream, "w oracle")
    for asked, left, right in (
        ("d oracle 2", 1, 2),
        ("d oracle 1", 3, 1),
        ("d oracle 1 oracle 3", 3, 1),
        ("d oracle oracle 1", 1, 3),
    ):
        assert await answer(stream, asked) == [
            f"left is oracle {left}, right is oracle {right}",
            "verifier's output: 1 difference",
            f"left, line 1: output of {left}",
            f"right, line 1: output of {right}",
        ]
    for asked, number in (("o oracle 4", 4), ("t oracle 0", 0), ("d oracle oracle 17", 17)):
        assert await answer(stream, asked) == [f"oracle has 3 runs, and none of number {number}"]
    assert await answer(stream, "o nop 1") == ["nop has 0 runs, and none of number 1"]
    assert await answer(stream, "o nosuch 1") == ["there is no case nosuch 1"]
    assert await answer(stream, "r oracle 1") == ["r takes a case, not one of its runs"]


async def test_names_of_cases_may_have_blanks_and_end_in_numbers() -> None:
    cases = tuple(Case(name, "agent", None) for name in ("claude-code opus", "claude-code opus 4", "nop"))
    stream = Stream().engine().task(cases)
    for run, case in enumerate(("claude-code opus", "claude-code opus", "claude-code opus 4", "nop")):
        stream.whole(case, passed(), f"{run}\n", run=str(run))
    assert await answer(stream, "o claude-code opus 1") == ["0"]
    assert await answer(stream, "o claude-code opus 4") == ["2"]
    assert await answer(stream, "o claude-code opus 4 1") == ["2"]
    assert (await answer(stream, "d claude-code opus 2 claude-code opus 4"))[0] == (
        "left is claude-code opus 4, right is claude-code opus 2"
    )
    assert (await answer(stream, "d nop claude-code opus  1"))[0] == (
        "left is claude-code opus 1, right is nop"
    )


async def test_the_list_counts_runs_and_of_an_agent_those_that_passed() -> None:
    stream = three_runs()
    assert (await answer(stream, "l"))[:2] == [
        "oracle: passed, as it must: reward 1.0; 1.31 s; 3 runs",
        "nop: not run",
    ]
    stream = Stream().engine().task((Case("claude-code opus", "agent", None),))
    free = [msgspec.structs.replace(outcome, met=None) for outcome in (passed(), passed(), failed())]
    for number, outcome in enumerate(free):
        stream.whole("claude-code opus", outcome, run=str(number))
    assert await answer(stream, "l") == [
        "claude-code opus: failed: reward 0.0; 1.31 s; 3 runs, 2 of 3 passed"
    ]


async def test_while_a_newer_run_waits_the_one_before_is_read() -> None:
    stream = three_runs().queue("oracle", "oracle-4").queue("nop", "nop-1")
    assert await answer(stream, "o oracle") == ["output of 3"]
    assert (await answer(stream, "d oracle"))[0] == "left is oracle 2, right is oracle 3"
    for asked in ("o oracle 4", "d oracle 4", "d oracle oracle 4"):
        assert await answer(stream, asked) == ["oracle 4: queued"]
    assert await answer(stream, "o nop") == ["nop: queued"]
    assert (await answer(stream, "l"))[:2] == [
        "oracle: passed, as it must: reward 1.0; 1.31 s; another waits; 4 runs",
        "nop: queued",
    ]
    stream.whole("nop", failed(), "from nop\n", run="nop-2")
    assert (await answer(stream, "d nop"))[0] == "left is oracle 3, right is nop 2"


async def test_of_runs_side_by_side_it_is_said_which_one_ended() -> None:
    stream = Stream().engine().task()
    for number in (1, 2):
        stream.queue("oracle", f"oracle-{number}", times=2)
    stream.start("oracle", "oracle-1").start("oracle", "oracle-2").wait(1.0).end(
        "oracle", passed(), "oracle-1"
    )
    assert (await told(RecordedSource(stream.events)))[-3:] == [
        "oracle 1: started",
        "oracle 2: started",
        "oracle 1: passed, as it must: reward 1.0; 1.00 s",
    ]


async def test_tests_that_came_out_otherwise_are_told_by_name() -> None:
    stream = Stream().engine().task()
    for run, second in (("oracle-1", "passed"), ("oracle-2", "failed")):
        tests = (Test("one", "passed", step="a"), Test("one", second, step="b"))  # type: ignore[arg-type]
        stream.whole("oracle", msgspec.structs.replace(passed(), tests=tests), run=run)
    assert (await answer(stream, "d oracle"))[1] == "b: one: left passed, right failed"
    assert await answer(stream, "t oracle") == ["passed: a: one", "failed: b: one"]
    assert (await answer(stream, "d oracle oracle"))[:1] == ["there are no two runs to compare"]


async def test_what_is_not_understood_is_answered_by_what_is() -> None:
    said = await told(RecordedSource(holding().events), "?", "o", "r nosuch")
    assert said[-3:] == [PlainFace.HELP, PlainFace.HELP, "there is no case nosuch"]


async def test_leaving_ends_the_engine() -> None:
    source = RecordedSource(holding().events)
    await told(source, "q", "r")
    assert source.sent == [OPENING]
    assert source.stopped


async def test_a_dead_engine_is_said_and_another_one_started() -> None:
    source = RecordedSource(holding().events)
    source.feed(ev.EngineFailed(message="the engine was killed by SIGKILL", hint="its log is /log"))
    source.die(-9)
    said = await told(source, "r", "f", "x", "p", "e")
    assert "the engine cannot go on: the engine was killed by SIGKILL; its log is /log" in said
    assert said.count("the engine has ended; e starts another") == 5
    assert source.sent == [OPENING, OPENING]
    assert source.starts == 2


async def test_an_engine_that_does_not_start_is_said() -> None:
    said = await told(RecordedSource(fails="no space left"), "l")
    assert "no engine: no space left" in said
