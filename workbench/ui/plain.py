"""The same stream as lines of text, with no drawing: for screen readers, braille and slow lines.

Every change is said once, in words. What is asked for is typed, a line each.
"""

from __future__ import annotations

import asyncio
import selectors
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

from workbench import events as ev
from workbench import wishes
from workbench.cases.case import AgentSpec
from workbench.session import CaseView, Run, Session, TaskView
from workbench.ui import plain_run, words
from workbench.ui.compare.others import baselines
from workbench.ui.figures import count
from workbench.ui.source import EventSource
from workbench.ui.visible import one_line, visible

HELP = (
    "r [CASE] runs a case or all, f those that are not as they must be, x [CASE] cancels, "
    "p pauses or resumes watching, l lists the cases, v says the verdict, "
    "o CASE reads its verifier's output, t CASE its tests, a CASE what its agent did, "
    "c CASE what it changed, w CASE where its time went, "
    "d CASE [CASE] how it differs from its run before or from the other's, "
    "e starts another engine after one ended, q quits"
)
_DESCRIBING = (
    ev.ProviderChosen,
    ev.TaskOpened,
    ev.TaskUnreadable,
    ev.ProblemsFound,
    ev.CasesFound,
    ev.WatchingChanged,
    ev.VerdictReached,
)
"""What an engine that reads the task again says again, also where nothing has changed."""

_WISHES = frozenset("rfxp")
"""What takes an engine."""
_READS: dict[str, Callable[[Run], Iterator[str]]] = {
    "o": plain_run.verifier,
    "t": plain_run.tests,
    "a": plain_run.agent,
    "c": plain_run.files,
    "w": lambda run: plain_run.timing(run, time.time()),
}
"""What is read of a case's newest run."""
_ENDED = "the engine has ended; e starts another"


class PlainFace:
    """Says what happens, and passes on what is asked for."""

    def __init__(self, source: EventSource, task: Path, say: Callable[[str], None]) -> None:
        """
        Args:
            say: Takes a line.
        """
        self._source = source
        self._task = str(task)
        self._say = say
        self._session = Session()
        self._last: dict[type[ev.Event], list[str]] = {}

    @property
    def _view(self) -> TaskView:
        return self._session.task(self._task)

    async def show(self, opening: wishes.OpenTask, asked: AsyncIterator[str]) -> None:
        """Say what happens until the user leaves.

        Args:
            asked: The lines that the user types.
        """
        self._say(f"{one_line(Path(self._task).name)}: opening. Type ? and Enter for what can be asked.")
        listening = asyncio.create_task(self._listen(opening))
        try:
            async for line in asked:
                word, _, rest = line.strip().partition(" ")
                if word == "q":
                    break
                if word == "e" and listening.done():
                    listening = asyncio.create_task(self._listen(opening, again=True))
                elif word:
                    await self._answer(word, rest.strip())
        finally:
            listening.cancel()
            await self._source.stop()

    async def _listen(self, opening: wishes.OpenTask, *, again: bool = False) -> None:
        try:
            await (self._source.restart() if again else self._source.start())
            await self._source.send(opening)
            async for event in self._source.events():
                self._session.apply(event)
                told = list(self._told(event))
                if isinstance(event, _DESCRIBING):
                    if self._last.get(type(event)) == told:
                        continue
                    self._last[type(event)] = told
                for line in told:
                    self._say(line)
        except OSError as error:
            self._say(f"no engine: {visible(str(error))}")
        self._session.engine_died(0.0)
        self._say(_ENDED)

    def _told(self, event: ev.Event) -> Iterator[str]:
        """An event in words; nothing for what is asked for by name, such as output."""
        match event:
            case ev.ProviderChosen():
                yield f"machines: {one_line(event.label)}"
            case ev.TaskOpened():
                yield f"task: {one_line(event.name)}"
            case ev.TaskUnreadable():
                yield f"the task cannot be run: {one_line(event.reason)}"
            case ev.ProblemsFound():
                for problem in event.problems:
                    yield f"{problem.severity}: {one_line(str(problem))}"
            case ev.CasesFound():
                names = ", ".join(one_line(case.name) for case in event.cases)
                yield f"{count(len(event.cases), 'case')}: {names}"
            case ev.WatchingChanged():
                yield "watching" if event.watching else "not watching"
            case ev.FilesChanged() if event.why:
                yield f"saved: {one_line(event.why)}"
            case ev.RunStarted():
                yield f"{one_line(event.case)}: started"
            case ev.RunEnded():
                yield self._standing(event.case)
            case ev.VerdictReached():
                yield self._verdict()
            case ev.Notice():
                yield f"{event.level}: {one_line(event.message)}"
            case ev.EngineFailed():
                said = "; ".join(one_line(part) for part in (event.message, event.hint) if part)
                yield f"the engine cannot go on: {said}"

    async def _answer(self, word: str, rest: str) -> None:
        views = self._named(rest, most=2 if word == "d" else 1)
        if views is None:
            self._say(f"there is no case {one_line(rest)}")
            return
        view = views[0] if views else None
        if word in _WISHES:
            await self._wish(word, view)
        elif word == "l":
            for case in self._view.cases:
                self._say(self._standing(case))
        elif word == "v":
            self._say(self._verdict())
        elif word in _READS and view:
            await self._read(view, _READS[word])
        elif word == "d" and view:
            await self._compare(view, views[1] if len(views) > 1 else None)
        else:
            self._say(HELP)

    def _named(self, rest: str, most: int) -> list[CaseView] | None:
        """The cases that are named, up to so many; None where one is not known. Names may have spaces."""
        cases = self._view.cases
        if not rest or rest in cases:
            return [cases[rest]] if rest else []
        for at, letter in enumerate(rest):
            first, second = rest[:at], rest[at:].strip()
            if most > 1 and letter == " " and first in cases and second in cases:
                return [cases[first], cases[second]]
        return None

    async def _wish(self, word: str, view: CaseView | None) -> None:
        """Ask the engine for something, or say why not."""
        if self._session.stopped:
            self._say(_ENDED)
            return
        name = view.case.name if view else ""
        match word:
            case "r":
                await self._source.send(wishes.Replay(task=self._task, cases=(name,) if name else ()))
            case "f":
                # None at all would mean every case to the engine.
                if unmet := tuple(case for case, one in self._view.cases.items() if not _met(one)):
                    await self._source.send(wishes.Replay(task=self._task, cases=unmet))
                else:
                    self._say("every case came out as it must")
            case "x":
                run = view.current if view else None
                if name and (run is None or run.state == "ended"):
                    self._say(f"{one_line(name)} does not run")
                else:
                    await self._source.send(wishes.Cancel(task=self._task, run=run.id if run else ""))
            case "p":
                watching = not self._view.watching
                await self._source.send(wishes.SetWatching(task=self._task, watching=watching))

    def _standing(self, name: str) -> str:
        view = self._view.cases.get(name)
        if view is None or (run := view.current) is None:
            return f"{one_line(name)}: not run"
        if run.outcome is None:
            return f"{one_line(name)}: {run.phase.name if run.phase else run.state}"
        outcome = run.outcome
        as_must = {True: ", as it must", False: ", which it must not", None: ""}[outcome.met]
        took = words.seconds(words.elapsed(run, run.ended_at or 0.0))
        stale = f"; stale: {one_line(view.stale)}" if view.stale else ""
        return f"{one_line(name)}: {outcome.kind}{as_must}: {words.reason(outcome)}; {took}{stale}"

    def _verdict(self) -> str:
        verdict = self._view.verdict
        if verdict is None:
            return "verdict: none yet"
        return f"verdict: {verdict.kind}, {verdict.held} of {verdict.total}: {one_line(verdict.reason)}"

    async def _read(self, view: CaseView, tell: Callable[[Run], Iterator[str]]) -> None:
        if run := view.current:
            await self._recite(tell(run))
        else:
            self._say(self._standing(view.case.name))

    async def _compare(self, view: CaseView, other: CaseView | None) -> None:
        """Say how a case's newest run differs: from the other's, else the one before, else the oracle's."""
        left, right = other.current if other else None, view.current
        if right and other is None:
            left = next((run for _, run in baselines(self._view, view, right)), None)
        if left is None or right is None or left is right:
            self._say("there are no two runs to compare")
            return
        self._say(f"left is {one_line(left.id)}, right is {one_line(right.id)}")
        await self._recite(plain_run.differences(left, right))

    async def _recite(self, lines: Iterator[str]) -> None:
        """Say lines that have to be read from the disk first."""
        for line in await asyncio.to_thread(list, lines):
            self._say(line)


def _met(view: CaseView) -> bool:
    decided = view.decided
    return not view.case.expect or bool(decided and decided.outcome and decided.outcome.met)


async def _typed() -> AsyncIterator[str]:
    """The lines of standard input."""
    if not _can_be_waited_for(sys.stdin.fileno()):
        for line in sys.stdin.buffer:
            yield line.decode("utf-8", "replace")
        return
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )
    while line := await reader.readline():
        yield line.decode("utf-8", "replace")


def _can_be_waited_for(descriptor: int) -> bool:
    """Whether it is a terminal or a pipe: a file and `/dev/null` have all they will ever have."""
    with selectors.DefaultSelector() as selector:
        try:
            selector.register(descriptor, selectors.EVENT_READ)
        except OSError:
            return False
        return True


def run(source: EventSource, task: Path, *, paused: bool = False, agents: tuple[AgentSpec, ...] = ()) -> None:
    """Say a task's life in lines until the user leaves, or standard input ends.

    Args:
        paused: Replay and watch nothing until asked to.
        agents: Agents to try the task on.
    """
    opening = wishes.OpenTask(
        task=str(task), watch=not paused, replay=not paused, cached=paused, agents=agents
    )
    face = PlainFace(source, task, lambda line: print(line, flush=True))
    asyncio.run(face.show(opening, _typed()))
