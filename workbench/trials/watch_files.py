"""Watches what an agent changes in the file system, by whatever way its environment has."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from harbor.environments.base import BaseEnvironment

from workbench.trials import listing_changes
from workbench.trials.file_changes import Changes


@runtime_checkable
class TellsChanges(Protocol):
    """An environment that knows by itself what changed."""

    async def look_at_files(self) -> object:
        """What there is now."""
        ...

    async def changed_files(self, since: object) -> Changes:
        """What changed since a look."""
        ...


class FileWatch:
    """One watch, from the moment before an agent begins to the moment after it ended."""

    def __init__(self, environment: BaseEnvironment) -> None:
        self._environment = environment
        self._before: object = None

    async def begin(self) -> None:
        """Look at what there is. What goes wrong is told by `end`."""
        environment = self._environment
        if isinstance(environment, TellsChanges):
            self._before = await environment.look_at_files()
        else:
            self._before = await listing_changes.listing(environment)

    async def end(self) -> Changes:
        """What changed since."""
        environment, before = self._environment, self._before
        if isinstance(environment, TellsChanges) and before is not None:
            return await environment.changed_files(before)
        if isinstance(before, dict):
            return await listing_changes.changes_since(environment, before)
        return Changes(notes=("the files could not be listed before the agent began",))
