"""Makes the recordings that ship with the samples, and the README's pictures from them.

    python -m tests.recording.make_samples [slugify] [demo] [pictures]

`slugify` is a session as an author has it, with the saves made by this script; `demo` is many trials at once.
The pictures are made from the recordings that there are.
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
from workbench.recording.recording import Recording, read_recording
from workbench.session import CaseView, Run, Session, TaskView

SAMPLES = places.shipped("sample_tasks")
RECORDINGS = SAMPLES / "recordings"
PICTURES = SAMPLES / "pictures"
SIZE = (140, 26)
PAUSE = 2.0
"""Seconds that an author looks at the screen between two saves."""
PATIENCE = 60.0
"""Seconds after which something that should come of a save will not."""


UNSTEADY = "now-and-then"
UNSTEADY_SCRIPT = """\
#!/bin/bash
set -euo pipefail

work() {
    echo "$1 ..."
    sleep "$((RANDOM % 2)).$((RANDOM % 10))"
}

work "reading the instruction"
work "writing slugify.py"
bash /solution/right.sh
if ((RANDOM % 4 == 0)); then
    work "making it shorter"
    sed -i 's/unicodedata.normalize("NFD", title)/title/' /app/slugify.py
fi
work "trying it on a title with spaces"
"""


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

    async def wish(self, wish: wishes.Wish) -> None:
        """Ask for something."""
        await self._link.send(wish)

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
async def author(recording: str, concurrency: int = 2) -> AsyncIterator[Author]:
    """Someone with a copy of slugify, not opened yet; what happens becomes a recording of that name."""
    with tempfile.TemporaryDirectory() as scratch:
        task = Path(shutil.copytree(SAMPLES / "slugify", Path(scratch) / "slugify"))
        options = EngineOptions(
            provider="bubblewrap",
            concurrency=concurrency,
            idle=1.0,
            state_dir=Path(scratch) / "state" / "workbench",
        )
        async with EngineLink(options) as link:
            someone = Author(link, task)
            yield someone
            await someone.ended()
    RECORDINGS.mkdir(exist_ok=True)
    lines = b"".join(ev.encode(event) for event in neutral(someone.events))
    (RECORDINGS / f"{recording}.jsonl").write_bytes(lines)


async def slugify() -> None:
    """A grader made too lenient, so that a wrong solution passes; then set right again."""
    strict, lenient = "got.get(title) != slug", 'got.get(title, "")[:30] != slug[:30]'
    async with author("slugify") as someone:
        await someone.wish(wishes.OpenTask(task=str(someone.task)))
        await someone.until(lambda view: view.settled)
        await someone.save("tests/grade.py", strict, lenient, "cannot fail")
        await someone.save("tests/grade.py", lenient, strict, "holds")
        await someone.until(lambda view: view.settled and all(map(_whole, view.cases.values())))


def _whole(case: CaseView) -> bool:
    return bool(case.decided and case.decided.outcome and case.decided.outcome.whole)


async def demo() -> None:
    """Sixteen trials, eight at once, of a solution that gets it wrong now and then."""
    async with author("demo", concurrency=8) as someone:
        unsteady = someone.task / "negatives" / UNSTEADY
        unsteady.mkdir()
        (unsteady / "case.toml").write_text('expect = "pass"\nwhy = "forgets accents now and then"\n')
        (unsteady / "solve.sh").write_text(UNSTEADY_SCRIPT)
        shutil.copy(someone.task / "solution" / "solve.sh", unsteady / "right.sh")
        task = str(someone.task)
        await someone.wish(wishes.OpenTask(task=task, watch=False, replay=False))
        await someone.wish(wishes.Repeat(task=task, case=UNSTEADY, times=16))
        await someone.until(lambda view: view.settled and len(_ended(view)) == 16)


def _ended(view: TaskView) -> list[Run]:
    return [run for case in view.cases.values() for run in case.runs if run.state == "ended"]


async def pictures() -> None:
    """A wrong solution that passes, its run beside the one before, and many trials in their midst."""
    recording = read_recording(RECORDINGS / "slugify.jsonl")
    moment = next(
        event.at - recording.start
        for event in recording.events
        if isinstance(event, ev.VerdictReached) and event.verdict.kind == "cannot fail"
    )
    await _picture(recording, "slugify", moment, "d")
    await _picture(recording, "side-by-side", moment, "d", "c")
    recording = read_recording(RECORDINGS / "demo.jsonl")
    ended = [event.at for event in recording.events if isinstance(event, ev.RunEnded)]
    await _picture(recording, "demo", ended[len(ended) // 2] - recording.start)


async def _picture(recording: Recording, name: str, moment: float, *keys: str) -> None:
    [made] = await write_pictures(recording, recording.task(), PICTURES, name, [moment], SIZE, keys)
    made.rename(PICTURES / f"{name}.svg")


MAKERS = {"slugify": slugify, "demo": demo, "pictures": pictures}


async def main(*names: str) -> None:
    """Make what is named, or all."""
    for name in names or MAKERS:
        await MAKERS[name]()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
