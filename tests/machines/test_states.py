from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import cast

import pytest

from workbench.machines.machine import Machine, MachineError, Usage
from workbench.machines.states import Budget, KeptInfo, StateTree

MIB = 1 << 20


@dataclass(eq=False)
class FakeState:
    key: str
    memory: int = MIB
    machines: int = 0
    deleted: bool = False
    keeps_processes: bool = True
    may_go: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.may_go.set()

    async def branch(self, name: str) -> Machine:
        assert not self.deleted
        self.machines += 1
        return cast(Machine, name)

    async def usage(self) -> Usage:
        return Usage(self.memory, 0.0, 1)

    async def delete(self) -> None:
        if self.machines:
            raise MachineError("machines stand on it")
        await self.may_go.wait()
        self.deleted = True


async def kept(tree: StateTree, *pairs: tuple[str, str], memory: int = MIB) -> dict[str, FakeState]:
    """States by key, each with its parent's key."""
    states = {}
    for key, parent in pairs:
        states[key] = FakeState(key, memory)
        await tree.keep(key, states[key], parent)
    return states


def keys(tree: StateTree) -> list[str]:
    return [info.key for info in tree.kept()]


async def test_over_the_count_the_leaf_that_was_not_used_for_longest_goes() -> None:
    tree = StateTree(Budget(count=3))
    states = await kept(tree, ("image", ""), ("a", "image"), ("b", "image"))
    assert tree.get("a") is states["a"]
    await kept(tree, ("c", "image"))
    assert keys(tree) == ["image", "a", "c"]
    assert states["b"].deleted
    assert tree.get("b") is None


async def test_a_state_that_others_stand_on_goes_only_after_them() -> None:
    tree = StateTree(Budget(count=4))
    await kept(tree, ("image", ""), ("a", "image"), ("a2", "a"))
    tree.budget = Budget(count=1)
    for key in ("a2", "a", "image"):
        tree.get(key)
    assert await tree.trim() == ("a2", "a")
    assert keys(tree) == ["image"]


async def test_memory_is_a_limit_too() -> None:
    tree = StateTree(Budget(memory_bytes=250 * MIB))
    await kept(tree, ("a", ""), ("b", ""), ("c", ""), memory=100 * MIB)
    assert keys(tree) == ["b", "c"]


async def test_what_machines_stand_on_or_is_in_use_stays_over_the_budget() -> None:
    tree = StateTree(Budget(count=3))
    states = await kept(tree, ("a", ""), ("b", ""), ("c", ""))
    assert cast(object, await tree.branch("a", "m")) == "m"
    tree.budget = Budget(count=1)
    with tree.using("b"):
        assert await tree.trim() == ("c",)
    assert keys(tree) == ["a", "b"]
    states["a"].machines = 0
    assert await tree.trim() == ("a",)
    assert keys(tree) == ["b"]


async def test_no_one_begins_to_use_a_state_that_is_being_deleted() -> None:
    tree = StateTree()
    states = await kept(tree, ("a", ""), ("b", ""))
    states["a"].may_go.clear()
    tree.budget = Budget(count=1)
    trimming = asyncio.create_task(tree.trim())
    await asyncio.sleep(0)
    with pytest.raises(MachineError, match="state a is not kept any more"):
        await tree.branch("a", "m")
    states["a"].may_go.set()
    assert await trimming == ("a",)


async def test_a_state_kept_again_under_its_key_takes_the_place_of_the_one_before() -> None:
    tree = StateTree()
    states = await kept(tree, ("image", ""), ("a", "image"))
    states["a"].machines = 1
    second = await kept(tree, ("a", "image"))
    assert tree.get("a") is second["a"]
    assert not states["a"].deleted
    states["a"].machines = 0
    assert await tree.trim() == ("a",)
    assert states["a"].deleted
    assert tree.get("a") is second["a"]


async def test_a_forgotten_state_goes_though_the_budget_would_keep_it() -> None:
    tree = StateTree()
    await kept(tree, ("image", ""), ("a", "image"), ("a2", "a"))
    tree.forget("a")
    tree.forget("unknown")
    assert await tree.trim() == ()
    tree.forget("a2")
    assert await tree.trim() == ("a2", "a")
    assert keys(tree) == ["image"]


async def test_what_is_kept_is_told_with_what_it_stands_on_and_what_it_takes() -> None:
    tree = StateTree()
    await kept(tree, ("image", ""), ("a", "image"), memory=5)
    assert tree.kept() == (KeptInfo("image", "", 5, True), KeptInfo("a", "image", 5, True))
