"""The same stream as lines of text, with no drawing: for screen readers, braille and slow lines.

Every change is said once, in words. What is asked for is typed, a line each.
"""

from __future__ import annotations

import asyncio
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
from workbench.ui.named import Named, NotThereError, named
from workbench.ui.source import EventSource
from workbench.ui.typed import typed
from workbench.ui.visible import one_line, visible

READING = (
    "l lists the cases, v says the verdict, "
    "o CASE reads its verifier's output, t CASE its tests, a CASE what its agent did, "
    "c CASE what it changed, w CASE where its time went, "
    "d CASE [CASE] how it differs from its run before or from the other's, "
    "all of the newest run, or as in o oracle 2 of the run of that number, 1 being the oldest"
)
"""What takes no engine."""
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

_WISHES = frozenset("rfxpe")
"""What takes an engine."""
_READS: dict[str, Callable[[Run], Iterator[str]]] = {
    "o": plain_run.verifier,
    "t": plain_run.tests,
    "a": plain_run.agent,
    "c": plain_run.files,
}
"""What is read of a run, whatever time it is."""
_ENDED = "the engine has ended; e starts another"


class PlainFace:
    """Says what happens, and passes on what is asked for."""

    HELP = (
        "r [CASE] runs a case or all, f those that are not as they must be, x [CASE] cancels, "
        f"p pauses or resumes watching, {READING}, e starts another engine after one ended, q quits"
    )

    def __init__(
        self,
        source: EventSource,
        task: Path,
        say: Callable[[str], None],
        clock: Callable[[], float] = time.time,
    ) -> None:
        """
        Args:
            say: Takes a line.
            clock: Tells Unix seconds.
        """
        self._source = source
        self._task = str(task)
        self._say = say
        self._clock = clock
        self._session = Session()
        self._last: dict[type[ev.Event], list[str]] = {}
        self._opening: wishes.OpenTask
        self._listening: asyncio.Task[None]
        """To an engine, once it is shown."""

    @property
    def _view(self) -> TaskView:
        return self._session.task(self._task)

    async def show(self, opening: wishes.OpenTask, asked: AsyncIterator[str]) -> None:
        """Say what happens until the user leaves.

        Args:
            asked: The lines that the user types.
        """
        self._greet("opening")
        self._opening = opening
        self._listening = asyncio.create_task(self._listen())
        try:
            await self._hear(asked)
        finally:
            self._listening.cancel()
            await self._source.stop()

    def _greet(self, what: str) -> None:
        self._say(f"{one_line(Path(self._task).name)}: {what}. Type ? and Enter for what can be asked.")

    async def _hear(self, asked: AsyncIterator[str]) -> bool:
        """Answer lines until they end, or the user leaves; whether the user did."""
        async for line in asked:
            word, _, rest = line.strip().partition(" ")
            if word == "q":
                return True
            if word:
                await self._answer(word, rest.strip())
        return False

    async def _listen(self, *, again: bool = False) -> None:
        try:
            await (self._source.restart() if again else self._source.start())
            await self._source.send(self._opening)
            await self._follow()
        except OSError as error:
            self._say(f"no engine: {visible(str(error))}")
        self._session.engine_died(self._clock())
        self._say(_ENDED)

    async def _follow(self) -> None:
        """Say what the source tells of the task, to its end."""
        async for event in self._source.events():
            self._session.apply(event)
            if getattr(event, "task", "") not in ("", self._task):
                continue
            told = list(self._told(event))
            if isinstance(event, _DESCRIBING):
                if self._last.get(type(event)) == told:
                    continue
                self._last[type(event)] = told
            for line in told:
                self._say(line)

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
            case ev.RunStarted() | ev.RunEnded() if run := self._session.runs.get(event.run):
                said = "started" if isinstance(event, ev.RunStarted) else plain_run.standing(run)
                yield f"{self._name(run)}: {said}"
            case ev.VerdictReached():
                yield self._verdict()
            case ev.Notice():
                yield f"{event.level}: {one_line(event.message)}"
            case ev.EngineFailed():
                said = "; ".join(one_line(part) for part in (event.message, event.hint) if part)
                yield f"the engine cannot go on: {said}"

    async def _answer(self, word: str, rest: str) -> None:
        cases = self._view.cases
        try:
            found = named(rest, cases, most=2 if word == "d" else 1)
        except NotThereError as error:
            self._say(str(error))
            return
        first = found[0] if found else None
        if word in "rx" and first and first.number:
            self._say(f"{word} takes a case, not one of its runs")
        elif word in _WISHES:
            await self._wish(word, first.view if first else None)
        elif word == "l":
            for view in cases.values():
                self._say(self._standing(view))
        elif word == "v":
            self._say(self._verdict())
        elif word in _READS and first:
            await self._read(first, _READS[word])
        elif word == "w" and first:
            await self._read(first, lambda run: plain_run.timing(run, self._clock()))
        elif word == "d" and first:
            await self._compare(first, found[1] if len(found) > 1 else None)
        else:
            self._say(self.HELP)

    async def _wish(self, word: str, view: CaseView | None) -> None:
        """Ask the engine for something, or say why not."""
        if word == "e" and self._listening.done():
            self._listening = asyncio.create_task(self._listen(again=True))
            return
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
            case "e":
                self._say("the engine is running")

    def _standing(self, view: CaseView) -> str:
        """How a case's newest run that has begun stands, whether another waits, and how many it has."""
        name, run = one_line(view.case.name), view.begun or view.current
        if run is None:
            return f"{name}: not run"
        parts = [plain_run.standing(run)]
        if run.outcome and view.stale:
            parts.append(f"stale: {one_line(view.stale)}")
        if run is not view.current and view.current and view.current.state == "queued":
            parts.append("another waits")
        if len(view.runs) > 1:
            kinds = words.ended_kinds(view) if words.speaks_of_all(view) else []
            passed = f", {kinds.count('passed')} of {len(kinds)} passed" if kinds else ""
            parts.append(f"{count(len(view.runs), 'run')}{passed}")
        return f"{name}: {'; '.join(parts)}"

    def _say_standing(self, run: Run) -> None:
        self._say(f"{self._name(run)}: {plain_run.standing(run)}")

    def _name(self, run: Run) -> str:
        """A run as one types it: by its case, and by its number where that has several."""
        view = self._view.cases.get(run.case)
        runs = view.runs if view else []
        number = f" {runs.index(run) + 1}" if len(runs) > 1 and run in runs else ""
        return one_line(run.case) + number

    def _verdict(self) -> str:
        verdict = self._view.verdict
        if verdict is None:
            return "verdict: none yet"
        return f"verdict: {verdict.kind}, {verdict.held} of {verdict.total}: {one_line(verdict.reason)}"

    async def _read(self, asked: Named, tell: Callable[[Run], Iterator[str]]) -> None:
        run = asked.run
        if run and run.has_begun:
            await self._recite(tell(run))
        elif run:
            self._say_standing(run)
        else:
            self._say(self._standing(asked.view))

    async def _compare(self, asked: Named, other: Named | None) -> None:
        """Say how a run differs: from the other, else the one before, else the oracle's."""
        left, right = other.run if other else None, asked.run
        if right and other is None:
            left = next((run for _, run in baselines(self._view, asked.view, right)), None)
        if left is None or right is None or left is right:
            self._say("there are no two runs to compare")
            return
        if waiting := [run for run in (left, right) if not run.has_begun]:
            self._say_standing(waiting[0])
            return
        self._say(f"left is {self._name(left)}, right is {self._name(right)}")
        await self._recite(plain_run.differences(left, right))

    async def _recite(self, lines: Iterator[str]) -> None:
        """Say lines that have to be read from the disk first."""
        for line in await asyncio.to_thread(list, lines):
            self._say(line)


def _met(view: CaseView) -> bool:
    decided = view.decided
    return not view.case.expect or bool(decided and decided.outcome and decided.outcome.met)


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
    asyncio.run(face.show(opening, typed()))
