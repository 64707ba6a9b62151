"""What happens while an image is built."""

from __future__ import annotations

from collections.abc import Callable

import msgspec


class StepRecord(msgspec.Struct, frozen=True):
    """A step that is over."""

    text: str
    line: int | None
    seconds: float
    cached: bool


class BaseImage(msgspec.Struct, frozen=True):
    """An image of a registry that an image starts or copies from."""

    name: str
    digest: str = ""
    """What its name stood for; empty where the builder does not say."""
    pinned: bool = False
    """The name holds a digest, so it stands for the same content for ever."""


class RegistryAnswer(msgspec.Struct, frozen=True):
    """What a registry says of an image's name."""

    name: str
    used: str = ""
    """The digest in use; empty where that is not known."""
    now: str = ""
    """The digest that the name stands for now; empty where it could not be asked, or need not be."""
    pinned: bool = False
    moved: bool = False
    """The name stands for another image than the one in use."""
    error: str = ""
    """Why the registry could not be asked."""


class _BuildEvent(msgspec.Struct, frozen=True, kw_only=True, tag_field="build", omit_defaults=True):
    pass


class BuildStarted(_BuildEvent, frozen=True, kw_only=True, tag="started"):
    """A build has begun; the image before it still serves."""

    builder: str
    """Name and version, such as `buildah 1.39.3`."""
    why: str
    """Such as "environment/app.py changed"."""
    lines: tuple[int, ...] = ()
    """Where each instruction stands in the Dockerfile, in its order: a step's place among them tells how far
    the build is, by any builder."""


class StepStarted(_BuildEvent, frozen=True, kw_only=True, tag="step-started"):
    """The builder came to an instruction. Steps of stages that are built side by side may overlap."""

    step: int
    """Counts from 1 through the whole build."""
    text: str
    """The instruction."""
    line: int | None = None
    """Where it stands in the Dockerfile, 1-based; None for the builder's own work."""


class StepOutput(_BuildEvent, frozen=True, kw_only=True, tag="step-output"):
    """What a step printed: whole lines, newlines included, or a piece of a long one."""

    step: int
    """0 for what belongs to none."""
    text: str


class StepDone(_BuildEvent, frozen=True, kw_only=True, tag="step-done"):
    """A step is over."""

    step: int
    seconds: float
    cached: bool = False
    """The layer of an earlier build was used again."""


class BuildFailed(_BuildEvent, frozen=True, kw_only=True, tag="failed"):
    """No image came of it; the last good one, if any, still serves."""

    message: str
    hint: str = ""
    line: int | None = None
    """Where the failing instruction stands in the Dockerfile."""
    instruction: str = ""


class BuildCancelled(_BuildEvent, frozen=True, kw_only=True, tag="cancelled"):
    """It was ended from outside, usually by the next save."""


class ImageReady(_BuildEvent, frozen=True, kw_only=True, tag="ready"):
    """There is an image for the files as they are."""

    key: str
    """Names what it was built from."""
    result: str
    """Names what is in it; the same as before means that nothing needs to boot."""
    archive: str
    """Path of the archive, or of the file system where that is kept instead."""
    seconds: float
    """What building and exporting took; 0 when an earlier build's was still there."""
    same: bool = False
    """It holds the same as the image before."""
    built_at: float | None = None
    """Unix seconds when it was built; None for just now."""
    took: float = 0.0
    """Seconds that its build took, whenever that was."""
    builder: str = ""
    """Name and version of what built it."""
    steps: tuple[StepRecord, ...] = ()
    """Those of its build, in their order."""
    bases: tuple[BaseImage, ...] = ()
    warnings: tuple[str, ...] = ()
    """What its author should know of how it was built."""


class ImageStale(_BuildEvent, frozen=True, kw_only=True, tag="stale"):
    """The image that serves is not what the files ask for, and nothing is being built."""

    why: str
    """Such as "environment/app.py changed"; empty when it is again what they ask for."""


type BuildEvent = (
    BuildStarted
    | StepStarted
    | StepOutput
    | StepDone
    | BuildFailed
    | BuildCancelled
    | ImageReady
    | ImageStale
)
type OnBuildEvent = Callable[[BuildEvent], None]
