"""An image that is built for a task, as the events of its builds tell of it."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from workbench.images.build_events import (
    BuildCancelled,
    BuildEvent,
    BuildFailed,
    BuildStarted,
    ImageReady,
    ImageStale,
    StepDone,
    StepOutput,
    StepStarted,
)

STEP_OUTPUT_LIMIT = 2_000
"""Pieces of output kept for one step of a build."""


@dataclass
class ImageStep:
    """One instruction of a Dockerfile, as the builder came to it."""

    started: StepStarted
    output: deque[str] = field(default_factory=lambda: deque(maxlen=STEP_OUTPUT_LIMIT))
    output_seen: int = 0
    """Pieces of output that came in, dropped ones included."""
    started_at: float = 0.0
    done: StepDone | None = None
    recalled: bool = False
    """It belongs to a build of before, of which only the steps are known and not what they printed."""


@dataclass
class ImageView:
    """An image that is built for the task."""

    directory: str
    """What it is built from, relative to the task."""
    started: BuildStarted | None = None
    """The build that runs."""
    started_at: float = 0.0
    newest: BuildStarted | None = None
    """The newest build, whether or not it runs."""
    steps: dict[int, ImageStep] = field(default_factory=dict)
    """Of the newest build, by number."""
    failed: BuildFailed | None = None
    """Why the newest build gave no image; the one before still serves."""
    ready: ImageReady | None = None
    """The image that serves."""
    ready_at: float | None = None
    """When it began to serve."""
    built_at: float | None = None
    """When it was built, maybe by an earlier engine."""
    stale: str = ""
    """Why it is not what the files ask for although nothing is being built; empty when it is."""

    @property
    def building(self) -> bool:
        """Whether a build runs."""
        return self.started is not None

    def apply(self, event: BuildEvent, at: float) -> None:
        """Take one event in, told at `at`. Those of steps that were never announced are let go."""
        match event:
            case BuildStarted():
                self.started = self.newest = event
                self.started_at, self.failed = at, None
                self.steps.clear()
            case StepStarted():
                self.steps[event.step] = ImageStep(event, started_at=at)
            case StepOutput():
                if step := self.steps.get(event.step):
                    step.output.append(event.text)
                    step.output_seen += 1
            case StepDone():
                if step := self.steps.get(event.step):
                    step.done = event
            case BuildFailed():
                self.started, self.failed = None, event
            case BuildCancelled():
                self.started = None
            case ImageReady():
                self.started, self.failed, self.ready, self.ready_at = None, None, event, at
                self.built_at, self.stale = event.built_at or at, ""
                if not event.seconds and event.steps:
                    self._recall_steps(event)
            case ImageStale():
                self.stale = event.why

    def _recall_steps(self, ready: ImageReady) -> None:
        """Show the steps of an image that was built before, rather than those of the newest build."""
        self.newest = None
        self.steps = {
            number: ImageStep(
                StepStarted(step=number, text=step.text, line=step.line),
                done=StepDone(step=number, seconds=step.seconds, cached=step.cached),
                recalled=True,
            )
            for number, step in enumerate(ready.steps, 1)
        }
