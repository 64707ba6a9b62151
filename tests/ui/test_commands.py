"""Everything that can be done, said once."""

from __future__ import annotations

import inspect
from collections import Counter
from itertools import chain

from workbench.ui import commands
from workbench.ui.commands import APP, COMPARE, MAIN, PLAYER, Command, Offer

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


def test_only_function_keys_work_in_a_shell() -> None:
    # A recording is played where there is no shell to type in.
    for command in EVERYTHING:
        if command.priority and command not in PLAYER.commands:
            assert all(key.startswith("f") and key[1:].isdigit() for key in command.keys.split(","))


def test_every_command_is_one_that_its_node_can_do() -> None:
    from workbench.ui.app import WorkbenchApp
    from workbench.ui.compare.aligned_view import AlignedView
    from workbench.ui.screens.compare import CompareScreen
    from workbench.ui.screens.main import MainScreen
    from workbench.ui.tabs.trajectory import Steps
    from workbench.ui.widgets.case_list import Cases
    from workbench.ui.widgets.line_list import LineList
    from workbench.ui.widgets.log_view import LogView
    from workbench.ui.widgets.problem_list import ProblemList
    from workbench.ui.widgets.test_list import TestList
    from workbench.ui.widgets.text_view import TextView

    for node in (
        *(WorkbenchApp, MainScreen, CompareScreen, Cases, ProblemList, TestList, LineList, Steps),
        *(LogView, TextView, AlignedView),
    ):
        for command in node.OFFER.commands:
            name = f"action_{command.action.partition('(')[0]}"
            assert inspect.isfunction(getattr(node, name, None)), f"{node.__name__}.{name}"
