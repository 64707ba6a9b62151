"""A task read at a moment: its cases, their keys, and what is wrong with it."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from workbench.cases.case import Case
from workbench.cases.find import find_cases
from workbench.engine.services import Services
from workbench.images.errors import ImageError
from workbench.proof.keys import StageKeys, made_as, stage_keys
from workbench.task.ingredients import case_ingredients, image_ingredients
from workbench.task.load import LoadedTask, load
from workbench.task.marked import CONFIG
from workbench.task.problem import Problem
from workbench.task.snapshot import Snapshot


@dataclass(frozen=True)
class Reading:
    """A task that can be run, as it was at one moment."""

    loaded: LoadedTask
    snapshot: Snapshot
    cases: tuple[Case, ...]
    image_key: str
    verifier_image_keys: Mapping[str, str]

    @property
    def names(self) -> frozenset[str]:
        """The cases' names."""
        return frozenset(case.name for case in self.cases)

    @cached_property
    def digest(self) -> str:
        """Of all the task's files."""
        return hashlib.sha256(repr(sorted(self.snapshot.entries.items())).encode()).hexdigest()

    def keys_of(self, case: Case) -> tuple[StageKeys, Mapping[str, str]]:
        """The keys of a case's stages, and what they are made of."""
        ingredients = dict(image_ingredients(self.snapshot))
        for step in case_ingredients(self.snapshot).get(made_as(case), ()):
            ingredients |= {**step.agent, **step.verdict}
        return stage_keys(self.snapshot, case, self.image_key, self.verifier_image_keys), ingredients


async def read(
    path: Path, services: Services, agents: tuple[Case, ...] = ()
) -> tuple[tuple[Problem, ...], Reading | None]:
    """Read the task at `path`.

    Args:
        agents: Cases that it has besides its own.

    Returns:
        What keeps it from running or may do so, and the reading; None where it cannot be run.
    """
    problems, found = await asyncio.to_thread(_read, path)
    if found is None:
        return problems, None
    loaded, snapshot, cases = found
    return problems, _reading(loaded, snapshot, (*cases, *agents), services)


async def read_again(before: Reading, services: Services) -> Reading | None:
    """The task after saves, read in a few milliseconds where only the content of files changed that say
    nothing of which cases there are or how they run; None where it takes `read` to tell."""
    snapshot = await asyncio.to_thread(Snapshot.of, before.loaded.path)
    was, now = before.snapshot.entries, snapshot.entries
    if snapshot.config is None or was.keys() != now.keys() or snapshot.excluded != before.snapshot.excluded:
        return None
    if any(was[path] != now[path] and _shapes(path) for path in now):
        return None
    if was == now:
        snapshot = before.snapshot  # what is known of it need not be found again
    return _reading(before.loaded, snapshot, before.cases, services)


async def read_after(before: Reading, case: Case, services: Services) -> Reading | None:
    """The task after a run of a case: as before, unless something changed that the case may depend on."""
    if await asyncio.to_thread(before.snapshot.still_holds, before.loaded.path, case.script):
        return _reading(before.loaded, before.snapshot, before.cases, services)
    return await read_again(before, services)


async def on_images(now: Reading, services: Services) -> Reading:
    """The reading on the images that are built already; on none where the files ask for another."""
    images, loaded = services.images, now.loaded
    if services.provider.builds or not images.contexts(loaded):
        return now
    stale = await why_stale(now, services)
    key, verifiers = services.image_key(loaded), images.verifier_keys(loaded)
    return replace(now, image_key="" if stale else key, verifier_image_keys=verifiers)


async def why_stale(now: Reading, services: Services) -> str:
    """Why the images that are built are not those that the files ask for; empty when they are."""
    try:
        return await services.images.stale(now.loaded)
    except ImageError as error:
        return str(error)


def _shapes(path: str) -> bool:
    """Whether a file's content says which cases there are, or how the task runs."""
    directory, _, name = path.rpartition("/")
    return name in (CONFIG, "case.toml", ".harborignore") or directory == "negatives"


def _reading(loaded: LoadedTask, snapshot: Snapshot, cases: tuple[Case, ...], services: Services) -> Reading:
    image_key, verifier_keys = services.image_key(loaded), services.images.verifier_keys(loaded)
    return Reading(loaded, snapshot, cases, image_key, verifier_keys)


def _read(
    path: Path,
) -> tuple[tuple[Problem, ...], tuple[LoadedTask, Snapshot, tuple[Case, ...]] | None]:
    loaded, problems = load(path)
    if loaded is None:
        return problems, None
    cases, of_cases = find_cases(path)
    problems = (*problems, *of_cases)
    snapshot = Snapshot.of(path)
    unreadable = snapshot.config is None or any(problem.severity == "error" for problem in problems)
    return problems, None if unreadable else (loaded, snapshot, cases)
