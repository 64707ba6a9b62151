"""Which file feeds which stage of which case, and what a save makes stale."""

from __future__ import annotations

from typing import Literal

from workbench.task.ingredients import (
    SETTING,
    Ingredients,
    StepIngredients,
    case_ingredients,
    case_names,
    image_ingredients,
)
from workbench.task.snapshot import Snapshot
from workbench.task.text import shown

__all__ = ["Snapshot", "Stage", "affected", "feeds", "words_for"]

type Stage = Literal["image", "agent", "verdict"]


def feeds(snapshot: Snapshot, path: str) -> dict[str, Stage]:
    """The first stage that a file is for, for each case that it matters to; empty for a README.

    Args:
        path: POSIX, relative to the task. task.toml feeds by its settings; see `affected`.
    """
    if path in image_ingredients(snapshot):
        return dict.fromkeys(case_names(snapshot), "image")
    fed: dict[str, Stage] = {}
    for case, steps in case_ingredients(snapshot).items():
        if any(path in step.agent for step in steps):
            fed[case] = "agent"
        elif any(path in step.verdict for step in steps):
            fed[case] = "verdict"
    return fed


def affected(before: Snapshot, after: Snapshot) -> dict[str, tuple[Stage, str]]:
    """For each case of `after` that went stale: the first stage to do again, and why in words.

    In a task with steps, whatever changes before the last verdict asks for the agent again: later
    steps start from what earlier ones left.
    """
    if before.config is None or after.config is None:
        return dict.fromkeys(case_names(after), ("image", "task.toml could not be read"))
    if changes := _changes(image_ingredients(before), image_ingredients(after)):
        return dict.fromkeys(case_names(after), ("image", _words(changes)))
    known = case_ingredients(before)
    stale: dict[str, tuple[Stage, str]] = {}
    for case, steps in case_ingredients(after).items():
        if case not in known:
            stale[case] = ("agent", "it is new")
        elif change := _first_change(known[case], steps):
            stale[case] = change
    return stale


def words_for(before: Ingredients, after: Ingredients) -> str:
    """What differs between the ingredients of two moments, in words; empty when nothing does."""
    changes = _changes(before, after)
    return _words(changes) if changes else ""


def _first_change(
    before: tuple[StepIngredients, ...], after: tuple[StepIngredients, ...]
) -> tuple[Stage, str] | None:
    if [step.step for step in before] != [step.step for step in after]:
        return "agent", "the steps changed"
    for number, (old, new) in enumerate(zip(before, after, strict=True), 1):
        if changes := _changes(old.agent, new.agent):
            return "agent", _words(changes)
        if changes := _changes(old.verdict, new.verdict):
            return "verdict" if number == len(after) else "agent", _words(changes)
    return None


def _changes(before: Ingredients, after: Ingredients) -> list[str]:
    """What differs, in words: files first, then settings, then whole tables of settings."""
    files, settings, tables = [], [], []
    for label in sorted(before.keys() | after.keys()):
        if before.get(label) == after.get(label):
            continue
        verb = "changed" if label in before and label in after else "was added"
        verb = "was removed" if label not in after else verb
        if not label.startswith(SETTING):
            files.append(f"{shown(label)} {verb}")
        elif verb == "changed":
            settings.append(f"{label} changed")
        else:
            tables.append(f"{label.rpartition(' ')[0]} {verb}")
    return [*files, *settings, *dict.fromkeys(tables)]


def _words(changes: list[str]) -> str:
    return changes[0] if len(changes) == 1 else f"{changes[0]}, and {len(changes) - 1} more"
