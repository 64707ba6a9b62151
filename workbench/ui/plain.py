"""The same stream as lines of text, with no drawing: for screen readers, braille and slow lines.

Every change is said once, in words. What is asked for is typed, a line each.
"""

from __future__ import annotations

import asyncio
import selectors
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

from workbench import events as ev
from workbench import wishes
from workbench.cases.case import AgentSpec
from workbench.session import CaseView, Session, TaskView
from workbench.ui import trial_files, words
from workbench.ui.figures import count
from workbench.ui.source import EventSource
from workbench.ui.visible import one_line, visible

HELP = (
    "r [CASE] runs a case or all, f those that are not as they must be, x [CASE] cancels, "
    "p pauses or resumes watching, l lists the cases, v says the verdict, "
    "o CASE reads its verifier's output, t CASE its tests, e starts another engine after one ended, q quits"
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

    async def _answer(self, word: str, name: str) -> None:
        view = self._view.cases.get(name)
        if name and view is None:
            self._say(f"there is no case {one_line(name)}")
            return
        if word in _WISHES:
            await self._wish(word, name, view)
            return
        match word:
            case "l":
                for case in self._view.cases:
                    self._say(self._standing(case))
            case "v":
                self._say(self._verdict())
            case "o" if view:
                self._read(view)
            case "t" if view:
                self._tests(view)
            case _:
                self._say(HELP)

    async def _wish(self, word: str, name: str, view: CaseView | None) -> None:
        """Ask the engine for something, or say why not."""
        if self._session.stopped:
            self._say(_ENDED)
            return
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

    def _read(self, view: CaseView) -> None:
        run = view.current
        lines = trial_files.printed(run, "verifier").splitlines() if run else []
        for line in lines or ["it has printed nothing"]:
            self._say(visible(line))

    def _tests(self, view: CaseView) -> None:
        tests = view.current.outcome.tests if view.current and view.current.outcome else ()
        for test in tests:
            self._say(f"{test.status}: {one_line(test.name)} {one_line(test.message)}".rstrip())
        if not tests:
            self._say("no tests are named")


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
