"""What the engine's parts share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from workbench import events as ev
from workbench.engine.provider import Provider
from workbench.engine.records import Records
from workbench.engine.runner import Runner
from workbench.machines.states import StateTree

type Emit = Callable[[ev.Event], None]
type Confirm = Literal["idle", "always", "never"]
type OnChange = Literal["kill", "wait"]


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """How an engine works."""

    threshold: float = 1.0
    """The least reward that passes."""
    confirm: Confirm = "idle"
    """When whole trials replay what was only re-verified: once saves have settled, at once, or never."""
    idle_seconds: float = 3.0
    """Without a save for so long, saves have settled."""
    on_change: OnChange = "kill"
    """Whether a save ends the runs that it makes stale, or lets them end before they run again."""
    grace_seconds: float = 0.0
    """How long a stale run may still go on before it is ended."""


@dataclass(frozen=True)
class Services:
    """One engine's."""

    emit: Emit
    runner: Runner
    provider: Provider
    records: Records
    states: StateTree
    settings: Settings
    state_dir: Path
