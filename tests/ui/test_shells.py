"""The shell pane on the main screen: what it asks of the engine, and what becomes of the answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual import events
from textual.widget import Widget
from textual.widgets import Input, TabbedContent, TabPane

from tests.ui import task_streams as streams
from tests.ui.driving import Driven, opened, until
from tests.ui.streams import CASES, TASK, Stream, failed, passed
from tests.ui.task_streams import PROMPT, TaskStream
from workbench import events as ev
from workbench import wishes
from workbench.cases.case import Case
from workbench.images.build_events import BuildFailed
from workbench.machines.machine import HostCommand
from workbench.ui.screens.main import MainScreen
from workbench.ui.screens.task_screen import TaskScreen
from workbench.ui.shells.task_shells import TaskShells
from workbench.ui.terminal.terminal import Terminal
from workbench.ui.widgets.case_list import CaseList, Cases

PATIENCE = 60.0
"""Seconds; only a fault makes a test wait this long."""
FIRST = wishes.OpenShell(task=TASK, shell="image-1")
TRIED = Case("shell", "shell", None, why="what a shell's machine held when it was tried")


@asynccontextmanager
async def with_shell(size: tuple[int, int] = (160, 50)) -> AsyncIterator[Driven]:
    """The app with a shell on the image in its pane."""
    async with opened(streams.opened_task(), size, shell=True) as driven:
        driven.source.feed(*TaskStream().shell().events)
        await until(driven.pilot, lambda: bool(pane(driven).shells))
        if size[0] >= 120:
            await shown(driven, PROMPT)
        yield driven


def pane(driven: Driven) -> TaskShells:
    return driven.app.screen_stack[-1].query_one(TaskShells)


async def shown(driven: Driven, text: str) -> None:
    """Wait until a text is on the screen, of a program that is no part of the app."""
    async with asyncio.timeout(PATIENCE):
        while text not in driven.text:
            await driven.pilot.pause(0.01)


def tried(driven: Driven, *events: ev.Event) -> None:
    """The verifier runs on what a shell's machine holds."""
    driven.source.feed(
        ev.CasesFound(task=TASK, cases=(*CASES, TRIED)),
        ev.RunQueued(task=TASK, case="shell", run="shell-1", why="tried in a shell"),
        ev.RunStarted(task=TASK, case="shell", run="shell-1", trial_dir="/nowhere", whole=False),
        *events,
    )


async def test_opening_a_task_asks_for_a_shell_on_its_image_as_soon_as_it_is_read() -> None:
    async with opened(Stream().engine(), shell=True) as driven:
        assert FIRST not in driven.source.sent
        driven.source.feed(*Stream().task().events)
        await driven.settle()
        assert driven.source.sent[1:] == [FIRST]
        assert "A machine boots from the image ..." in driven.text


async def test_a_shell_stands_ready_in_the_pane_without_taking_the_focus() -> None:
    async with with_shell() as driven:
        assert "Shell · the image" in driven.text
        assert "4 or a click to type" in driven.text
        await driven.press("j", "r")
        assert driven.source.sent[-1] == wishes.Replay(task=TASK, cases=("nop",))


async def test_a_shell_starts_and_shows_itself_also_where_its_place_was_asked_for_before_its_layout(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with opened(streams.opened_task(), (100, 30), shell=True) as driven:
        compositor = driven.app.screen._compositor
        update = compositor.update_widgets

        def update_and_ask(widgets: set[Widget]) -> None:
            update(widgets)
            assert compositor.full_map

        monkeypatch.setattr(compositor, "update_widgets", update_and_ask)
        driven.source.feed(*TaskStream().shell().events)
        await until(driven.pilot, lambda: bool(pane(driven).shells))
        for _ in range(2):
            await driven.press("4")
            await shown(driven, PROMPT)
            await driven.press("ctrl+right_square_bracket")


async def test_without_a_shell_asked_for_there_is_no_pane() -> None:
    async with opened(streams.opened_task()) as driven:
        assert "Shell" not in driven.text.replace("s Shell", "")
        assert not [wish for wish in driven.source.sent if isinstance(wish, wishes.OpenShell)]


async def test_the_command_of_a_shell_that_was_never_asked_for_is_not_run(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    command = HostCommand(("/bin/touch", str(mark)), {})
    async with with_shell() as driven:
        ready = ev.ShellReady(task=TASK, shell="other", title="the image", command=command)
        driven.source.feed(ready)
        await driven.settle()
        await driven.press("S")
        driven.source.feed(*TaskStream().shell("image-2", text="asked#").events)
        await shown(driven, "asked#")
        assert len(pane(driven).shells) == 2
        assert not mark.exists()


async def test_a_shell_waits_for_the_image_that_is_built_first() -> None:
    stream = TaskStream().engine().task()
    assert isinstance(stream, TaskStream)
    async with opened(stream.dockerfile().build(upto=2), shell=True) as driven:
        assert "The image is being built, 2/4 steps. A shell opens when it is there." in driven.text


async def test_a_shell_that_could_not_be_made_is_asked_for_again_when_there_is_an_image() -> None:
    stream = TaskStream().engine().task()
    assert isinstance(stream, TaskStream)
    stream.dockerfile().build(upto=2).image(BuildFailed(message="ended with exit code 1", line=3))
    async with opened(stream, shell=True) as driven:
        failure = ev.ShellFailed(at=stream.now, task=TASK, shell="image-1", reason="there is no image")
        driven.source.feed(failure)
        await driven.settle()
        assert "No shell: there is no image" in driven.text
        stream.wait(1)
        driven.source.feed(*TaskStream(stream.now).ready().events)
        await driven.settle()
        assert driven.source.sent[1:] == [FIRST, wishes.OpenShell(task=TASK, shell="image-2")]


async def test_a_shell_on_an_image_that_was_built_anew_says_so() -> None:
    stream = streams.opened_task().built()
    async with opened(stream, shell=True) as driven:
        driven.source.feed(*TaskStream(stream.now).shell().events)
        await shown(driven, PROMPT)
        assert "Shell · the image ─" in driven.text
        same = TaskStream(stream.now + 1).ready(same=True)
        driven.source.feed(*same.events)
        await driven.settle()
        assert "Shell · the image ─" in driven.text
        driven.source.feed(*TaskStream(stream.now + 2).ready().events)
        await driven.settle()
        assert "Shell · the image before its rebuild ─" in driven.text
        await driven.press("S")
        driven.source.feed(*TaskStream(stream.now + 3).shell("image-2", text="new#").events)
        await shown(driven, "new#")
        assert "Shell · the image ─" in driven.text


async def test_a_key_goes_to_the_shell_where_keys_are_typed_and_a_gesture_leaves_it() -> None:
    async with with_shell() as driven:
        await driven.press("4")
        await until(driven.pilot, lambda: isinstance(driven.app.focused, Terminal))
        assert "^] leaves" in driven.text
        sent = list(driven.source.sent)
        await driven.press(*"raqx")
        await shown(driven, f"{PROMPT} raqx")
        assert driven.source.sent == sent
        await driven.press("ctrl+right_square_bracket", "r")
        assert driven.source.sent[-1] == wishes.Replay(task=TASK, cases=("oracle",))


async def test_a_click_goes_to_the_shell() -> None:
    async with with_shell() as driven:
        await driven.pilot.click("Terminal", offset=(3, 3))
        assert isinstance(driven.app.focused, Terminal)


async def test_the_footer_shows_the_keys_that_do_something_in_a_shell() -> None:
    async with with_shell() as driven:
        assert "a Run all" in driven.text.splitlines()[-1]
        await driven.press("4")
        await until(driven.pilot, lambda: "^] Leave" in driven.text.splitlines()[-1])
        footer = driven.text.splitlines()[-1]
        assert "f7 Try here" in footer
        assert "f5 Run all" in footer
        assert "r Run " not in footer
        assert "Quit" not in footer


@pytest.mark.parametrize("size", [(160, 50), (100, 30)])
async def test_what_is_typed_right_after_the_key_that_goes_to_the_shell_goes_to_the_shell(
    size: tuple[int, int],
) -> None:
    async with with_shell(size) as driven:
        for character in "4sXq r\r":
            key = {" ": "space", "\r": "enter"}.get(character, character)
            driven.app.post_message(events.Key(key, character))
        await shown(driven, "sXq r")
        assert driven.source.sent[-1] == FIRST
        assert driven.app.is_running


@pytest.mark.parametrize("goes_on_to", ["", "cases"])
async def test_a_shell_that_one_goes_to_while_it_is_being_shown_gets_the_focus_if_one_stays(
    goes_on_to: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(streams.opened_task(), shell=True) as driven:
        screen = driven.app.screen
        assert isinstance(screen, MainScreen)
        tabs = pane(driven).query_one(TabbedContent)
        add = tabs.add_pane

        def add_and_go(shell: TabPane) -> Awaitable[None]:
            added = add(shell)
            screen.action_focus_pane("shells")
            if goes_on_to:
                screen.action_focus_pane(goes_on_to)
            return added

        monkeypatch.setattr(tabs, "add_pane", add_and_go)
        driven.source.feed(*TaskStream().shell().events)
        await shown(driven, PROMPT)
        await driven.settle()
        assert pane(driven).has_focus_within is not bool(goes_on_to)
        assert screen.query_one(CaseList).has_focus_within is bool(goes_on_to)


async def test_escape_in_a_maximised_shell_is_the_programs() -> None:
    async with with_shell() as driven:
        await driven.press("4", "f12", "escape", "x")
        await shown(driven, "^[x")
        assert "1 Cases" not in driven.text


async def test_a_notice_does_not_cover_where_one_types() -> None:
    async with with_shell() as driven:
        await driven.press("4")
        driven.app.notify("something happened")
        await driven.settle()
        lines = driven.text.splitlines()
        at = next(y for y, line in enumerate(lines) if "something happened" in line)
        assert at < len(lines) // 3


async def test_function_keys_work_in_a_shell() -> None:
    async with with_shell() as driven:
        await driven.press("4", "f5")
        await until(driven.pilot, lambda: driven.source.sent[-1] == wishes.Replay(task=TASK))


@pytest.mark.parametrize(
    ("key", "wish"),
    [
        ("f7", wishes.TryHere(task=TASK, shell="image-1")),
        ("f10", wishes.BringIn(task=TASK, shell="image-1")),
        ("f8", wishes.OpenShell(task=TASK, shell="image-2")),
        ("shift+f8", wishes.CloseShell(task=TASK, shell="image-1")),
    ],
)
async def test_a_function_key_sends_its_wish(key: str, wish: wishes.Wish) -> None:
    async with with_shell() as driven:
        await driven.press("4", key)
        await until(driven.pilot, lambda: driven.source.sent[-1] == wish)


async def test_a_shell_on_what_the_selected_case_left_opens_in_front_with_the_focus() -> None:
    async with with_shell() as driven:
        await driven.press("j", "s")
        assert driven.source.sent[-1] == wishes.OpenShell(task=TASK, shell="nop-2", on="nop")
        driven.source.feed(*TaskStream().shell("nop-2", "what nop left", "nop#").events)
        await shown(driven, "nop#")
        assert "Shell · what nop left" in driven.text
        assert "the image  what nop left" in driven.text
        await until(driven.pilot, lambda: isinstance(driven.app.focused, Terminal))
        await driven.press("f6")
        await shown(driven, PROMPT)


async def test_two_shells_on_the_same_have_names_of_their_own() -> None:
    async with with_shell() as driven:
        await driven.press("S")
        driven.source.feed(*TaskStream().shell("image-2", "the image", "second#").events)
        await shown(driven, "second#")
        assert "the image  the image 2" in driven.text


async def test_where_nothing_is_kept_the_reason_says_what_to_do() -> None:
    async with with_shell() as driven:
        await driven.press("s")
        reason = "nothing is kept of what oracle left; run oracle as a whole trial first"
        driven.source.feed(ev.ShellFailed(task=TASK, shell="oracle-2", reason=reason))
        await driven.settle()
        assert "No shell on what oracle left: nothing is kept" in driven.text
        assert "; r runs" in driven.text


async def test_what_is_tried_shows_as_a_run_and_its_end_is_told() -> None:
    async with with_shell() as driven:
        await driven.press("4", "f7")
        tried(driven)
        await driven.settle()
        assert "3 Run · shell" in driven.text
        await until(driven.pilot, lambda: isinstance(driven.app.focused, Terminal))
        ended = ev.RunEnded(task=TASK, case="shell", run="shell-1", outcome=streams.again(failed()))
        driven.source.feed(ended)
        await driven.settle()
        assert "Tried here: failed: reward 0.0" in driven.text


async def test_what_was_tried_is_tried_again_by_the_key_that_runs_a_case() -> None:
    async with with_shell() as driven:
        outcome = streams.again(passed())
        tried(driven, ev.RunEnded(task=TASK, case="shell", run="shell-1", outcome=outcome))
        await driven.settle()
        await driven.press("r")
        assert driven.source.sent[-1] == wishes.TryHere(task=TASK, shell="image-1")


async def test_a_draft_asks_for_a_name_and_is_told_with_its_path_and_a_key_to_edit_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with with_shell() as driven:
        await driven.press("4", "f9")
        assert "→ solution/solve.sh; beside it where there is one already" in driven.text
        await driven.press(*"drops-words")
        assert "→ negatives/drops-words/solve.sh, which must fail" in driven.text
        await driven.press("enter")
        wish = wishes.Draft(task=TASK, shell="image-1", name="drops-words")
        assert driven.source.sent[-1] == wish
        path = "negatives/drops-words/solve.sh"
        driven.source.feed(ev.DraftWritten(task=TASK, shell="image-1", path=path))
        await driven.settle()
        assert "Drafted negatives/drops-words/solve.sh" in driven.text
        edited: list[Path] = []
        monkeypatch.setattr(TaskScreen, "edit", lambda self, path, line=None: edited.append(path))
        await driven.press("shift+f9")
        assert edited == [Path(TASK) / path]


async def test_an_empty_name_drafts_the_solution() -> None:
    async with with_shell() as driven:
        await driven.press("4", "f9", "enter")
        assert driven.source.sent[-1] == wishes.Draft(task=TASK, shell="image-1")


async def test_a_name_that_can_be_none_is_refused_where_it_is_typed() -> None:
    async with with_shell() as driven:
        await driven.press("4", "f9", *"../x", "enter")
        assert "✗ use letters, digits, dots and hyphens" in driven.text
        assert isinstance(driven.app.focused, Input)
        await driven.press("escape")
        assert not [wish for wish in driven.source.sent if isinstance(wish, wishes.Draft)]


async def test_a_machine_that_ended_is_said_and_enter_opens_another() -> None:
    async with with_shell() as driven:
        driven.source.feed(ev.ShellLost(task=TASK, shell="image-1", reason="all its processes ended"))
        await driven.settle()
        assert "✗ The machine of this shell is gone: all its processes ended." in driven.text
        await driven.press("4", "enter")
        await until(driven.pilot, lambda: driven.source.sent[-1] == FIRST)
        driven.source.feed(*TaskStream().shell(text="another#").events)
        await shown(driven, "another#")
        assert "gone" not in driven.text


async def test_a_lost_machine_is_asked_for_nothing() -> None:
    async with with_shell() as driven:
        driven.source.feed(ev.ShellLost(task=TASK, shell="image-1", reason="it ended"))
        await driven.press("4", "f7")
        assert not [wish for wish in driven.source.sent if isinstance(wish, wishes.TryHere)]
        assert "The machine of this shell is gone." in driven.text


async def test_a_dead_engine_leaves_its_shells_and_another_engine_gives_new_ones() -> None:
    async with with_shell() as driven:
        driven.source.die(-9)
        await shown(driven, "The machine of this shell is gone: the engine ended.")
        await driven.press("S")
        assert "No engine runs that could make a machine" in driven.text
        await driven.press("R")
        driven.source.feed(*Stream(streams.opened_task().now + 1).engine().task().events)
        await driven.settle()
        await driven.press("4", "enter")
        await until(driven.pilot, lambda: driven.source.sent[-1] == FIRST)


async def test_what_a_dead_engine_was_asked_for_is_asked_of_the_next() -> None:
    async with opened(streams.opened_task(), shell=True) as driven:
        assert driven.source.sent[-1] == FIRST
        driven.source.die(-9)
        await driven.settle()
        assert "A machine boots" not in driven.text
        await driven.press("R")
        driven.source.feed(*Stream(streams.opened_task().now + 1).engine().task().events)
        await driven.settle()
        assert driven.source.sent[-1] == wishes.OpenShell(task=TASK, shell="image-2")


async def test_the_machine_of_a_shell_that_is_closed_is_given_back_and_the_pane_goes() -> None:
    async with with_shell() as driven:
        await driven.press("4", "shift+f8")
        await until(driven.pilot, lambda: not pane(driven).display)
        assert driven.source.sent[-1] == wishes.CloseShell(task=TASK, shell="image-1")
        await driven.press("4")
        assert "No shell is open. s opens one on what the case left" in driven.text


async def test_a_shell_fills_the_screen_and_gives_it_back() -> None:
    async with with_shell() as driven:
        await driven.press("4", "f12")
        await until(driven.pilot, lambda: "1 Cases" not in driven.text)
        assert PROMPT in driven.text
        await driven.press("f12")
        await until(driven.pilot, lambda: "1 Cases" in driven.text)


@pytest.mark.parametrize("size", [(100, 30), (80, 24), (60, 20)])
async def test_on_a_narrow_screen_a_key_shows_the_shell_instead(size: tuple[int, int]) -> None:
    async with with_shell(size) as driven:
        assert "Shell · the image" not in driven.text
        await driven.press("4")
        await shown(driven, PROMPT)
        assert "oracle " not in driven.text
        await driven.press("ctrl+right_square_bracket")
        await until(driven.pilot, lambda: "oracle " in driven.text)
        assert PROMPT not in driven.text


async def test_the_palette_and_the_help_know_what_shells_can_do() -> None:
    async with with_shell() as driven:
        await driven.press("question_mark", *"verifier on a branch")
        assert "Try here" in driven.text
        assert "f7" in driven.text


@pytest.mark.parametrize("key", ["escape", "ctrl+right_square_bracket"])
async def test_a_shell_whose_machine_is_gone_is_left_by_the_keys_that_it_names(key: str) -> None:
    async with with_shell() as driven:
        await driven.press("4")
        driven.source.die(-9)
        await until(driven.pilot, lambda: "enter opens another · escape or ^] leaves" in driven.text)
        await driven.press("enter")
        assert "No engine runs that could make a machine" in driven.app.told[-1].message
        await driven.press(key)
        await until(driven.pilot, lambda: isinstance(driven.app.focused, Cases))
