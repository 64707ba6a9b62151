"""Everything that can be done, said once."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest
from textual.dom import DOMNode
from textual.widgets._footer import FooterKey

from tests.ui.driving import opened, until
from tests.ui.streams import TASK, holding
from workbench import ui, wishes
from workbench.settings import Loaded, Settings
from workbench.ui import commands, keymap
from workbench.ui.commands import Command, Offer, offered
from workbench.ui.moved_keys import followed
from workbench.ui.overlay import Overlay
from workbench.ui.screen_commands import APP, COMPARE, MAIN, PLAYER
from workbench.ui.screens.help import HelpScreen

OFFERS = [offer for offer in vars(commands).values() if isinstance(offer, Offer)]
EVERYTHING: list[Command] = list(chain.from_iterable(offer.commands for offer in OFFERS))


def keys(*offers: Offer) -> Counter[str]:
    return Counter(key for offer in offers for command in offer.commands for key in command.keys.split(","))


def test_no_two_commands_share_an_identifier() -> None:
    assert [name for name, count in Counter(c.id for c in EVERYTHING).items() if count > 1] == []


def test_no_key_does_two_things_at_once() -> None:
    for offers in ((APP, MAIN), (APP, COMPARE), *((offer,) for offer in OFFERS)):
        assert [key for key, count in keys(*offers).items() if count > 1] == []


def test_every_command_has_a_title_and_a_sentence() -> None:
    for command in EVERYTHING:
        assert command.title
        assert command.help.endswith(".")


def _own_classes() -> Iterator[type[DOMNode]]:
    """Every class of the terminal face that keys can be bound in."""
    for module in pkgutil.walk_packages(ui.__path__, "workbench.ui."):
        for value in vars(importlib.import_module(module.name)).values():
            if isinstance(value, type) and issubclass(value, DOMNode) and value.__module__ == module.name:
                yield value


def test_every_key_can_be_moved_and_is_in_the_palette_so_that_a_mouse_can_do_what_a_key_can() -> None:
    known = keymap.all_commands()
    bound = {(node, binding) for node in _own_classes() for binding in vars(node).get("BINDINGS", ())}
    assert len(bound) > 100
    assert {node.__name__ for node, binding in bound if binding.id not in known} == set()
    offering = {node for node, _ in bound if not issubclass(node, Overlay) and hasattr(node, "OFFER")}
    for node in offering:
        offered = {command.id for command in node.OFFER.commands}
        assert {b.id for of, b in bound if of is node and b.id not in offered} == set()


@pytest.mark.parametrize("over", ["D", "b", "m", "at", "colon", "slash"])
async def test_the_help_names_no_key_that_does_nothing_where_one_is(over: str) -> None:
    async with opened(holding(), (160, 100)) as driven:
        await driven.press(over)
        active = driven.app.screen.active_bindings.values()
        bound = {one.binding.action.removeprefix("app.") for one in active}
        said = {command.action for _, offer in offered(driven.app.screen) for command in offer.commands}
        assert said - {"notices"} <= bound  # whose key closes them where they are shown
        await driven.press("f1")
        assert "Find any command" in driven.text
        assert ("Restart engine" in driven.text) is (over not in ("colon", "slash"))
        assert "Stop everything that runs and leave." in driven.text
        await driven.press("escape", "ctrl+q")
        assert driven.app._exit


@pytest.mark.parametrize("over", ["", "D", "b"])
async def test_a_job_offers_nothing_that_would_have_to_run_by_key_bar_help_and_palette(over: str) -> None:
    async with opened(holding().made_elsewhere(), (160, 100)) as driven:
        await driven.press(*over)
        said = {command.id for _, offer in offered(driven.app.screen) for command in offer.commands}
        assert not said & commands.RUNNING
        assert said & {"run.compare", "board.choose", "images.close"}
        titles = {key.description for key in driven.app.screen.query(FooterKey)}
        assert not titles & {"Run", "Run all", "Cancel", "Shell", "Pause", "Repeat"}
        assert "asks registries" not in driven.text
        if not over:
            await driven.press("s")  # which is refused by what stands in the engine's place
            assert isinstance(driven.source.sent[-1], wishes.OpenShell)
            assert "boots" not in driven.text
            await driven.press("4")
            assert driven.app.told[-1].message == "No shell is open."
        await driven.press("f1")
        assert "Help" in driven.text
        assert "Run every case" not in driven.text


async def test_of_a_job_it_is_not_said_that_all_is_as_it_must_be_since_nothing_runs() -> None:
    async with opened(holding().made_elsewhere()) as driven:
        await driven.press("f")
        assert isinstance(driven.source.sent[-1], wishes.Replay)
        assert "Every case came out as it must." not in driven.text


async def test_overlays_have_the_keys_that_the_user_gave_to_the_whole() -> None:
    moved = Loaded(Settings(keys={"help": "f8", "palette": "f9"}), (), ())
    async with opened(holding(), settings=moved) as driven:
        await driven.press("D")
        bar = driven.text.splitlines()[-1]
        assert (bar.count("Help"), bar.count("Commands")) == (1, 1)
        assert "f8 Help" in bar
        await driven.press("f8")
        assert isinstance(driven.app.screen, HelpScreen)
        apart = {"help": "f8", "overlay.help": "f7"}
        assert followed(apart) == apart


def test_a_key_of_the_whole_that_an_overlay_uses_otherwise_is_told() -> None:
    assert list(keymap.faults({"help": "P"})) == ["`P` is for both `overlay.help` and `grid.present`"]


def test_what_something_has_to_run_for_is_a_command() -> None:
    assert keymap.all_commands().keys() >= commands.RUNNING


async def test_a_click_on_a_command_in_the_help_does_it() -> None:
    # The help is offered at any size by the keys at the foot, so that a mouse can do everything there too.
    for size in ((160, 50), (60, 20)):
        async with opened(holding(), size) as driven:
            (button,) = [key for key in driven.app.screen.query(FooterKey) if key.description == "Help"]
            await driven.pilot.click(button)
            await until(driven.pilot, lambda: isinstance(driven.app.screen, HelpScreen))
            await driven.press(*"pause")
            lines = enumerate(driven.text.splitlines())
            x, y = next((line.index("Pause"), y) for y, line in lines if "Pause   " in line)
            await driven.pilot.click(offset=(x, y))
            await until(driven.pilot, lambda: not isinstance(driven.app.screen, HelpScreen))
            await driven.settle()
            assert driven.source.sent[-1] == wishes.SetWatching(task=TASK, watching=False)


def test_whatever_a_click_on_the_screen_does_a_key_does_too() -> None:
    clicked = set()
    for path in Path(ui.__path__[0]).rglob("*.py"):
        text = path.read_text()
        clicked |= set(re.findall(r'"(?:screen|app)\.(\w+)', text)) if "clickable(" in text else set()
    assert clicked >= {"images", "costs"}  # and the player's, which are clicked as the commands they are
    clicked.discard("run_command")  # of the help, which runs any command
    assert clicked <= {command.action.partition("(")[0] for command in keymap.all_commands().values()}


def test_only_function_keys_work_in_a_shell() -> None:
    # A recording is played where there is no shell to type in.
    for command in EVERYTHING:
        if command.priority and command not in PLAYER.commands:
            assert all(key.startswith("f") and key[1:].isdigit() for key in command.keys.split(","))


def test_every_command_is_one_that_its_node_can_do() -> None:
    offering = {node for node in _own_classes() if hasattr(node, "OFFER")}
    named = {"WorkbenchApp", "MainScreen", "CompareScreen", "Cases", "ProblemList", "TestList", "LineList"}
    assert {node.__name__ for node in offering} >= named | {"Steps", "LogView", "TextView", "AlignedView"}
    for node in offering:
        for command in node.OFFER.commands:
            name = f"action_{command.action.partition('(')[0]}"
            assert inspect.isfunction(getattr(node, name, None)), f"{node.__name__}.{name}"
