"""States of microVMs: branches, branches of branches, and what a budget trims."""

from __future__ import annotations

import asyncio

import pytest

from tests.microvm.test_machine import text
from workbench.machines.machine import MachineError
from workbench.machines.smol.machine import SmolMachine
from workbench.machines.smol.session import SmolSession
from workbench.machines.states import Budget


async def test_states_branch_twice_and_a_branch_branches_with_files_and_processes(
    session: SmolSession, image_key: str
) -> None:
    root = await session.states.branch(image_key, "root")
    assert isinstance(root, SmolMachine)
    await text(root, "echo old > /srv/note; setsid sleep 4720 > /dev/null 2>&1 < /dev/null &")
    state = await root.freeze()
    await session.states.keep("left", state, image_key)

    assert await text(root, "cat /srv/note") == "old\n"
    first = await session.states.branch("left", "first")
    assert isinstance(first, SmolMachine)
    await text(first, "echo new > /srv/note")
    deeper = await first.freeze()
    second, grandchild = await asyncio.gather(
        session.states.branch("left", "second"), deeper.branch("grandchild")
    )
    assert isinstance(second, SmolMachine)
    assert await text(second, "cat /srv/note") == "old\n"
    assert await text(grandchild, "cat /srv/note") == "new\n"
    for machine in (root, second, grandchild):
        assert await text(machine, "ps | grep -c '[s]leep 4720'") == "1\n"

    with pytest.raises(MachineError, match="has branches, which go first"):
        await state.delete()
    with pytest.raises(MachineError, match="is frozen and runs nothing"):
        await SmolMachine("frozen", state.vm).exec("true")

    await session.states.keep("deeper", deeper, "left")
    images = [info for info in session.states.kept() if info.key not in ("left", "deeper")]
    before, session.states.budget = session.states.budget, Budget(count=len(images))
    assert await session.states.trim() == ()
    for machine in (root, first, second, grandchild):
        await machine.delete()
    assert await session.states.trim() == ("deeper", "left")
    session.states.budget = before
    assert [info.key for info in session.states.kept()] == [info.key for info in images]
    with pytest.raises(MachineError, match="state left is not kept any more"):
        await session.states.branch("left", "late")
