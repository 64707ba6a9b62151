"""How the other screens and tabs look, and the main one when there is much to show."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.ui import streams
from tests.ui.driving import screen_text, still, until
from tests.ui.scenes import noticed, with_tests
from tests.ui.streams import TASK, Stream, failed, holding
from tests.ui.test_snapshots import Compare, compare, sizes
from tests.ui.trials import two_trials
from workbench import events as ev
from workbench.cases.case import Case
from workbench.recording.player import Player
from workbench.recording.recording import Recording
from workbench.ui.playing import PlayApp, PlayBar

NEXT = "right_square_bracket"


@pytest.fixture
def trials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Stream:
    """Two runs with trial directories, named without the test's own path."""
    monkeypatch.chdir(tmp_path)
    return two_trials()


@sizes
def test_compare(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert compare(snap_compare, holding(), size, "j", "j", "c")


@pytest.mark.parametrize("theme", ["day", "ember", "contrast"])
def test_compare_in_themes(snap_compare: Compare, theme: str) -> None:
    assert compare(snap_compare, holding(), (120, 30), "j", "j", "c", theme=theme)


def test_compare_timing(snap_compare: Compare) -> None:
    assert compare(snap_compare, holding(), (120, 30), "j", "c", NEXT, NEXT, NEXT, NEXT)


def test_compare_trajectories(snap_compare: Compare, trials: Stream) -> None:
    assert compare(snap_compare, trials, (120, 30), "j", "c", NEXT, NEXT, NEXT)


@sizes
def test_trajectory(snap_compare: Compare, trials: Stream, size: tuple[int, int]) -> None:
    assert compare(snap_compare, trials, size, NEXT, NEXT, NEXT, "3", "j", "j")


@sizes
def test_tests(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert compare(snap_compare, with_tests(), size, NEXT, NEXT, "3", "j")


@sizes
def test_files(snap_compare: Compare, trials: Stream, size: tuple[int, int]) -> None:
    assert compare(snap_compare, trials, size, *[NEXT] * 5, "3", "j", "j")


@sizes
def test_log(snap_compare: Compare, trials: Stream, size: tuple[int, int]) -> None:
    assert compare(snap_compare, trials, size, *[NEXT] * 6, "3")


@sizes
@pytest.mark.parametrize(("tab", "name"), [(2, "tests"), (4, "timing"), (5, "files")])
def test_compare_tabs(
    snap_compare: Compare, trials: Stream, tab: int, name: str, size: tuple[int, int]
) -> None:
    assert compare(snap_compare, trials, size, "j", "c", *[NEXT] * tab)


def test_the_other_side_on_a_narrow_screen(snap_compare: Compare) -> None:
    assert compare(snap_compare, holding(), (60, 20), "j", "j", "c", "o")


@sizes
def test_compare_with(snap_compare: Compare, size: tuple[int, int]) -> None:
    stream = holding()
    kept = tuple(
        ev.EarlierRun(
            task=task,
            case=case,
            expect="fail",
            at=stream.now - days * 86_400,
            trial_dir=f"/kept/{days}",
            outcome=failed(),
        )
        for task, case, days in ((TASK, "nop", 7), ("/home/author/tasks/prices", "drops-words", 9))
    )
    stream.add(ev.EarlierRunsTold(at=stream.now, task=TASK, runs=kept))
    assert compare(snap_compare, stream, size, "j", "C")


@sizes
def test_player(snap_compare: Compare, size: tuple[int, int]) -> None:
    player = Player(Recording(holding().events), now=lambda: 0.0)
    app = PlayApp(player, Path(TASK))

    async def settle(pilot: Pilot[None]) -> None:
        await until(pilot, lambda: bool(app.screen.query(PlayBar)))
        player.seek(player.duration)
        await until(pilot, lambda: "HOLDS" in screen_text(app) and app.up_to_date)
        await still(pilot)

    assert snap_compare(app, terminal_size=size, run_before=settle)


@sizes
def test_goto(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert compare(snap_compare, holding(), size, "colon", "r", "e")


@sizes
@pytest.mark.parametrize("keys", [(), ("at",)], ids=["toasts", "list"])
def test_notices(snap_compare: Compare, keys: tuple[str, ...], size: tuple[int, int]) -> None:
    assert compare(snap_compare, noticed(), size, *keys)


@sizes
def test_huge(snap_compare: Compare, size: tuple[int, int]) -> None:
    """Hundreds of cases with long names, and output of a hundred thousand long lines."""
    names = [f"wrong-solution-{number:03}-with-a-name-that-goes-on-and-on" for number in range(300)]
    cases = tuple(Case(name, "negative", "fail", "a reason " * 20) for name in names)
    stream = Stream().engine().task(cases)
    text = "".join(f"line {number} {'of much output ' * 9}\n" for number in range(100_000))
    stream.whole(names[0], failed("reward 0.0, below 1: " + "test_of_many_things, " * 20), text[:8_000_000])
    for name in names[1:40]:
        stream.whole(name, failed(), verifier=0.1 + len(name) % 7)
    assert compare(snap_compare, stream, size)


def test_nothing_is_running_and_no_case_is_there(snap_compare: Compare) -> None:
    stream = streams.Stream().engine().task(())
    assert compare(snap_compare, stream, (100, 30))
