"""What an outcome stands on, as the screen shows it, and how far a run is."""

from __future__ import annotations

from tests.ui import task_streams as streams
from tests.ui.driving import Driven, opened, until
from tests.ui.streams import TASK, failed, passed
from tests.ui.task_streams import HOUR, TaskStream
from workbench import events as ev

WIDE = (220, 50)


def row(driven: Driven, case: str) -> str:
    """The case's line in the list."""
    lines = [line.split("││")[0] for line in driven.text.splitlines()]
    return next(line for line in lines if line.replace("│", "").split()[1:2] == [case])


async def test_a_re_verified_outcome_says_so_in_its_row_its_run_and_beside_the_verdict() -> None:
    async with opened(streams.reverified(), WIDE) as driven:
        assert "failed ↻ re-verified" in row(driven, "nop")
        assert "✓ passed  must pass  reward 1.0  ↻ re-verified" in driven.text
        assert "✓ HOLDS 5/5" in driven.text
        assert "↻ 4 of 5 re-verified" in driven.text


async def test_a_whole_trial_says_nothing_of_the_kind() -> None:
    async with opened(streams.reverified(), WIDE) as driven:
        assert "↻" not in row(driven, "keeps-accents")
        await driven.press("G")
        assert "3 Run · keeps-accents · 2 of 2" in driven.text
        assert "✓ failed  must fail  reward 0.0  ↻" not in driven.text
        await driven.press("comma")
        assert "3 Run · keeps-accents · 1 of 2" in driven.text


async def test_a_row_without_room_for_the_word_keeps_the_sign() -> None:
    async with opened(streams.reverified(), (160, 40)) as driven:
        assert "failed ↻  " in row(driven, "nop")
        assert "↻ 4 of 5 re-verified" in driven.text


async def test_a_re_verification_that_runs_is_called_one() -> None:
    stream = streams.opened_task().save()
    stream.queue("oracle", "oracle-2").add(
        ev.RunStarted(at=stream.now, task=TASK, case="oracle", run="oracle-2", trial_dir="/x", whole=False)
    )
    stream.phase("oracle-2", "verifier")
    async with opened(stream, WIDE) as driven:
        assert "↻ re-verifying" in row(driven, "oracle")


async def test_what_a_receipt_knows_is_shown_with_its_age() -> None:
    async with opened(streams.recalled(), WIDE) as driven:
        assert "failed ◷ 2 h ago" in row(driven, "nop")
        assert "◷ all from a receipt, 2 h ago" in driven.text
        assert "1.30 s" in row(driven, "nop")


async def test_the_age_of_a_proof_is_that_of_its_oldest_part() -> None:
    stream = TaskStream().engine().task()
    assert isinstance(stream, TaskStream)
    stream.recall("oracle", passed(), 26 * HOUR).recall("nop", failed(), 60.0)
    stream.verdict("holds", "both came out as they must", 2, 2)
    async with opened(stream, WIDE) as driven:
        assert "◷ all from a receipt, 26 h ago" in driven.text


async def test_what_is_known_stays_in_sight_while_its_confirmation_waits() -> None:
    async with opened(streams.recalled(), WIDE) as driven:
        assert "✓ truncates-title" in row(driven, "truncates-title")
        assert "failed ◷ 2 h ago ◌" in row(driven, "truncates-title")


async def test_what_is_stale_waits_without_its_old_outcome() -> None:
    stream = streams.opened_task().save().queue("nop", "nop-2")
    async with opened(stream, WIDE) as driven:
        assert "◌ nop" in row(driven, "nop")
        assert "failed" not in row(driven, "nop")


async def test_a_run_tells_how_long_it_is_likely_to_take_yet() -> None:
    async with opened(streams.recalled(), WIDE) as driven:
        assert "~0.60 s left" in row(driven, "oracle")
        assert "about 0.60 s left" in driven.text
        assert "┄┄┄──━━╌╌╌╌╌" in row(driven, "oracle")


async def test_a_run_that_takes_longer_than_expected_promises_nothing() -> None:
    stream = streams.recalled()
    stream.wait(5)
    async with opened(stream, WIDE) as driven:
        assert "left" not in row(driven, "oracle")
        assert "5.90 s" in row(driven, "oracle")


async def test_a_phase_that_got_slower_tells_from_what_to_what() -> None:
    async with opened(streams.reverified(), WIDE) as driven:
        assert "passed ↻ re-verified ▲" in row(driven, "oracle")
        assert "▲ slower: verifier 0.78 s → 1.90 s" in driven.text
        assert "▲" not in row(driven, "nop")


async def test_a_whole_trial_that_contradicts_a_re_verification_stands_above_everything() -> None:
    async with opened(streams.differed(), WIDE) as driven:
        assert "≠ hard-coded: re-verified, it failed: reward 0.0; as a whole trial, it passed" in driven.text
        assert "PASSED ≠" in row(driven, "hard-coded")
        await driven.press("d")
        assert driven.text.count("such as a running process.") == 2


async def test_the_contradiction_is_over_when_a_whole_trial_agrees() -> None:
    stream = streams.differed().save()
    stream.reverify("hard-coded", failed(), run="hard-coded-4")
    async with opened(stream, WIDE) as driven:
        assert "≠ hard-coded" in driven.text
        again = TaskStream(stream.now).whole("hard-coded", failed(), run="hard-coded-5")
        driven.source.feed(*again.events)
        await driven.settle()
        assert "≠" not in driven.text


async def test_the_engine_hears_which_case_is_looked_at_once_the_user_stays_there() -> None:
    async with opened(streams.opened_task()) as driven:
        await driven.press("down", "down", "up")
        await until(driven.pilot, lambda: driven.source.looks[-1:] == ["nop"])


async def test_marks_are_there_at_every_size() -> None:
    for size in ((160, 50), (120, 40), (100, 30), (80, 24), (60, 20)):
        async with opened(streams.reverified(), size) as driven:
            assert "↻" in row(driven, "nop"), size
        async with opened(streams.recalled(), size) as driven:
            assert "◷" in row(driven, "nop"), size


async def test_trials_that_were_made_elsewhere_are_not_said_to_come_from_receipts() -> None:
    async with opened(streams.recalled().made_elsewhere(), WIDE) as driven:
        assert "◷ all made elsewhere" in driven.text
        assert "receipt" not in driven.text
