"""States by key, in a tree: each stands on the one that it was made from.

A state that others or living machines stand on cannot be deleted, so the tree is trimmed from its leaves, the
least recently used first, until it keeps to a budget.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import msgspec

from workbench.machines.machine import Machine, MachineError, State


class Budget(msgspec.Struct, frozen=True):
    """How much may be kept."""

    count: int = 64
    """States."""
    memory_bytes: int = 4 << 30
    """Host memory of all states together."""


class KeptInfo(msgspec.Struct, frozen=True):
    """A state as faces show it."""

    key: str
    parent: str
    """The key of the state that it stands on; empty for a root."""
    memory_bytes: int
    keeps_processes: bool


@dataclass(eq=False)
class _Node:
    key: str
    state: State
    parent: _Node | None
    memory_bytes: int
    used_at: int
    users: int = 0
    forgotten: bool = False
    children: set[_Node] = field(default_factory=set)


class StateTree:
    """The states of one engine."""

    def __init__(self, budget: Budget = Budget()) -> None:  # noqa: B008 (frozen)
        self.budget = budget
        self._nodes: list[_Node] = []
        self._by_key: dict[str, _Node] = {}
        self._clock = itertools.count(1)
        self._trimming = asyncio.Lock()

    async def keep(self, key: str, state: State, parent: str = "") -> None:
        """Take a state in, then trim.

        Args:
            key: Names what the state holds. A state kept under it before is forgotten.
            state: The tree's to delete from now on.
            parent: The key of the state it was made from, where that is kept here too.
        """
        memory = (await state.usage()).memory_bytes
        self.forget(key)
        above = self._by_key.get(parent)
        node = _Node(key, state, above, memory, next(self._clock))
        if above:
            above.children.add(node)
        self._nodes.append(node)
        self._by_key[key] = node
        await self.trim()

    def get(self, key: str) -> State | None:
        """The state of this key, which counts as a use."""
        node = self._by_key.get(key)
        if node is None:
            return None
        node.used_at = next(self._clock)
        return node.state

    @contextmanager
    def using(self, key: str) -> Iterator[State]:
        """Keep a state from being trimmed while the block runs.

        Raises:
            MachineError: it is not kept (any more).
        """
        if self.get(key) is None:
            raise MachineError(f"the state {key} is not kept any more", "run the case again as a whole trial")
        node = self._by_key[key]
        node.users += 1
        try:
            yield node.state
        finally:
            node.users -= 1

    async def branch(self, key: str, name: str) -> Machine:
        """A new machine that starts as the state is.

        Raises:
            MachineError: the state is not kept (any more), or cannot be branched.
        """
        with self.using(key) as state:
            return await state.branch(name)

    def forget(self, key: str) -> None:
        """Let go of a state that no one will ask for again; it goes with the next trimming that can."""
        if node := self._by_key.pop(key, None):
            node.forgotten = True

    async def trim(self) -> tuple[str, ...]:
        """Delete what was forgotten, then what is over the budget; returns the keys.

        What is in use, or has machines or states standing on it, stays.
        """
        trimmed: list[str] = []
        async with self._trimming:
            tried: set[_Node] = set()
            while (node := self._next(tried)) is not None:
                tried.add(node)
                known = self._by_key.get(node.key) is node
                if known:  # no one may begin to use what is being deleted
                    del self._by_key[node.key]
                try:
                    await node.state.delete()
                except MachineError:
                    if known:
                        self._by_key.setdefault(node.key, node)
                    continue
                self._nodes.remove(node)
                if node.parent:
                    node.parent.children.discard(node)
                trimmed.append(node.key)
        return tuple(trimmed)

    def kept(self) -> tuple[KeptInfo, ...]:
        """What is kept now, the least recently used first."""
        return tuple(
            KeptInfo(
                node.key,
                node.parent.key if node.parent else "",
                node.memory_bytes,
                node.state.keeps_processes,
            )
            for node in sorted(self._by_key.values(), key=lambda node: node.used_at)
        )

    def _next(self, tried: set[_Node]) -> _Node | None:
        over = (
            len(self._nodes) > self.budget.count
            or sum(node.memory_bytes for node in self._nodes) > self.budget.memory_bytes
        )
        leaves = [
            node
            for node in self._nodes
            if not node.children and not node.users and node not in tried and (node.forgotten or over)
        ]
        return min(leaves, key=lambda node: (not node.forgotten, node.used_at), default=None)
