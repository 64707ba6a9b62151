"""The key that traces scripts."""

from __future__ import annotations

from tests.ui.driving import opened
from tests.ui.streams import TASK, holding
from workbench import events as ev
from workbench import wishes
from workbench.settings import Loaded, Settings


async def test_a_key_traces_all_scripts_and_then_the_negatives_alone() -> None:
    moved = Loaded(Settings(keys={"run.case": "f15"}), (), ())
    async with opened(holding(), settings=moved) as driven:
        await driven.press("t")
        assert driven.source.sent[-1] == wishes.SetTracing(task=TASK, trace="all")
        assert "All scripts leave" not in driven.text  # nothing has been said to be so yet
        driven.source.feed(ev.TracingChanged(task=TASK, trace="all"))
        await driven.settle()
        said = "All scripts leave a trajectory from their next run on. f15 runs the selected case."
        assert driven.app.told[-1].message == said
        await driven.press("t")
        assert driven.source.sent[-1] == wishes.SetTracing(task=TASK, trace="negatives")
