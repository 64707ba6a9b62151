"""Makes the recordings that ship with the samples, and the README's pictures from them.

    python -m tests.recording.make_samples [pictures]

A recording is a session as an author has it, with the saves made by this script. With `pictures` only those
are made anew, from the recordings that there are.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from workbench import events as ev
from workbench import places, wishes
from workbench.link import EngineLink, EngineOptions
from workbench.pictures.svg import write_pictures
from workbench.proof.verdict import VerdictKind
from workbench.recording.neutral import neutral
from workbench.recording.recording import read_recording
from workbench.session import CaseView, Session, TaskView

SAMPLES = places.shipped("sample_tasks")
RECORDINGS = SAMPLES / "recordings"
PICTURES = SAMPLES / "pictures"
SIZE = (140, 26)
PAUSE = 2.0
"""Seconds that an author looks at the screen between two saves."""
PATIENCE = 60.0
"""Seconds after which something that should come of a save will not."""


class Author:
    """Someone who edits a task and looks at what comes of it."""

    def __init__(self, link: EngineLink, task: Path) -> None:
        self.task = task
        self.events: list[ev.Event] = []
        self._session = Session()
        self._link = link
        self._came = asyncio.Condition()
        self._reading = asyncio.create_task(self._read())

    @property
    def view(self) -> TaskView:
        """The task as it stands."""
        return self._session.task(str(self.task))

    async def until(self, condition: Callable[[TaskView], object]) -> None:
        """Wait until something is so, and look at it for a while."""
        async with self._came:
            await asyncio.wait_for(self._came.wait_for(lambda: condition(self.view)), PATIENCE)
        await asyncio.sleep(PAUSE)

    async def save(self, path: str, old: str, new: str, verdict: VerdictKind) -> None:
        """Edit a file, and wait for the verdict that must come of it."""
        file = self.task / path
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new))
        await self.until(lambda view: view.settled and view.verdict and view.verdict.kind == verdict)

    async def ended(self) -> None:
        """Wait for the engine's last word."""
        await self._link.stop()
        await self._reading

    async def _read(self) -> None:
        async for event in self._link.events():
            self._session.apply(event)
            self.events.append(event)
            async with self._came:
                self._came.notify_all()


@asynccontextmanager
async def author(sample: str) -> AsyncIterator[Author]:
    """Someone with a copy of a sample open; what happened becomes its recording."""
    with tempfile.TemporaryDirectory() as scratch:
        task = Path(shutil.copytree(SAMPLES / sample, Path(scratch) / sample))
        options = EngineOptions(
            provider="bubblewrap", concurrency=2, idle=1.0, state_dir=Path(scratch) / "state" / "workbench"
        )
        async with EngineLink(options) as link:
            someone = Author(link, task)
            await link.send(wishes.OpenTask(task=str(task)))
            await someone.until(lambda view: view.settled)
            yield someone
            await someone.ended()
    RECORDINGS.mkdir(exist_ok=True)
    lines = b"".join(ev.encode(event) for event in neutral(someone.events))
    (RECORDINGS / f"{sample}.jsonl").write_bytes(lines)


async def slugify() -> None:
    """A grader made too lenient, so that a wrong solution passes; then set right again."""
    strict, lenient = "got.get(title) != slug", 'got.get(title, "")[:30] != slug[:30]'
    async with author("slugify") as someone:
        await someone.save("tests/grade.py", strict, lenient, "cannot fail")
        await someone.save("tests/grade.py", lenient, strict, "holds")
        await someone.until(lambda view: view.settled and all(map(_whole, view.cases.values())))


def _whole(case: CaseView) -> bool:
    return bool(case.decided and case.decided.outcome and case.decided.outcome.whole)


async def pictures() -> None:
    """The moment at which a wrong solution passes: the whole screen, and that run beside the one before."""
    recording = read_recording(RECORDINGS / "slugify.jsonl")
    moment = next(
        event.at - recording.start
        for event in recording.events
        if isinstance(event, ev.VerdictReached) and event.verdict.kind == "cannot fail"
    )
    for name, keys in (("slugify", ("d",)), ("side-by-side", ("d", "c"))):
        [made] = await write_pictures(recording, recording.task(), PICTURES, name, [moment], SIZE, keys)
        made.rename(PICTURES / f"{name}.svg")


async def main(only: str) -> None:
    """Make all, or the pictures only."""
    if only != "pictures":
        await slugify()
    await pictures()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:2] or [""]))
