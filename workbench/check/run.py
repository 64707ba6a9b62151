"""One check, from the command line's wishes to an exit code."""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from rich.text import Text

from workbench import events as ev
from workbench.cases.case import AgentSpec
from workbench.check import junit
from workbench.check.progress import Progress
from workbench.check.result import Exit, exit_code
from workbench.check.table import print_provider, print_task, print_verdict, short
from workbench.check.targets import TargetError, find_tasks
from workbench.console import console, plain
from workbench.link import EngineLink, EngineOptions, EngineStartError
from workbench.recording.recorder import Recorder, RecorderError
from workbench.session import Session
from workbench.wishes import OpenTask


class CheckOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What to check, how, and how to tell of it."""

    paths: tuple[Path, ...]
    """Tasks, or directories of tasks."""
    engine: EngineOptions
    cases: tuple[str, ...] = ()
    """Names of the cases to run; empty for all."""
    agents: tuple[AgentSpec, ...] = ()
    """Agents to try the tasks on besides."""
    cached: bool = False
    """Take receipts for what they speak of, and run the rest."""
    json: bool = False
    """Print the event stream instead of tables."""
    junit: Path | None = None
    """Where to write the result for CI."""
    record: Path | None = None
    """Where to write the event stream, to be played."""


def check(options: CheckOptions) -> int:
    """Check tasks and print what they came to.

    Returns:
        An `Exit` code; 128 and the signal's number where another signal ended it.

    Raises:
        BrokenPipeError: nobody reads what is printed any more. The engine has been stopped.
    """
    try:
        tasks = find_tasks(options.paths)
        if options.junit and not options.junit.parent.is_dir():
            raise TargetError(
                f"{options.junit}: its directory does not exist; make {options.junit.parent} first"
            )
        recorder = Recorder(options.record) if options.record else None
    except (TargetError, RecorderError) as error:
        print(f"Error: {error}", file=sys.stderr)
        return Exit.WRONG
    return asyncio.run(_Check(options, tasks, recorder).run())


class _Check:
    def __init__(self, options: CheckOptions, tasks: list[Path], recorder: Recorder | None) -> None:
        self._options = options
        self._tasks = [str(task) for task in tasks]
        self._waited_for = set(self._tasks)
        self._asked_for = {*options.cases, *(spec.case for spec in options.agents)}
        self._session = Session()
        self._link = EngineLink(options.engine)
        self._recorder = recorder
        self._out = console()
        self._talk = console(stderr=True)
        live = sys.stderr.isatty() and not self._talk.is_dumb_terminal
        self._progress = Progress(
            self._talk, self._session, live=live and not (options.json and sys.stdout.isatty())
        )
        self._signalled: int | None = None
        self._stopping: asyncio.Task[None] | None = None
        self._code = Exit.HOLDS

    async def run(self) -> int:
        try:
            with self._signals():
                async with self._link:
                    with self._progress.running():
                        await self._listen()
                self._finish()
        except EngineStartError as error:
            self._say("error", str(error))
            return Exit.MACHINERY
        return self._code if self._signalled is None else 128 + self._signalled

    async def _listen(self) -> None:
        if self._signalled is not None:
            return
        options = self._options
        for task in self._tasks:
            wish = OpenTask(
                task=task, watch=False, cached=options.cached, only=options.cases, agents=options.agents
            )
            await self._link.send(wish)
        events = self._link.events()
        async for event in self._recorder.listening(events) if self._recorder else events:
            self._session.apply(event)
            if self._options.json:
                sys.stdout.buffer.write(ev.encode(event))
                sys.stdout.buffer.flush()
            self._progress.heard(event)
            self._take(event)

    def _take(self, event: ev.Event) -> None:
        match event:
            case ev.ProviderChosen() if not self._options.json:
                with self._progress.aside():
                    print_provider(self._out, event)
            case ev.Notice() if event.level != "info":
                about = f"{short(event.task)}: " if event.task else ""
                self._say(event.level, about + event.message)
            case ev.EngineFailed():
                self._failed(event)
            case ev.CasesFound() if self._asked_for - {case.name for case in event.cases}:
                # The engine says which, and what there is.
                self._note(Exit.WRONG)
            case ev.TaskUnreadable() | ev.Settled() if event.task in self._waited_for:
                self._done(event.task)

    def _done(self, task: str) -> None:
        self._waited_for.remove(task)
        if not self._options.json:
            with self._progress.aside():
                print_task(self._out, self._session.task(task))
        if not self._waited_for:
            self._stop()

    def _failed(self, event: ev.EngineFailed) -> None:
        # Of an engine that has told all there is to tell, no more is asked than that it ends.
        done = not self._waited_for
        if not done:
            self._note(Exit.MACHINERY)
        message = f"{event.message}; {event.hint}" if event.hint else event.message
        self._say("warning" if done else "error", message)
        if self._link.death and self._link.death.last_lines:
            self._say("info", f"its last line there: {self._link.death.last_lines[-1]}")
        self._stop()

    def _finish(self) -> None:
        """Say what is left to say, and what it all comes to."""
        self._session.engine_died(time.time())
        views = [self._session.task(task) for task in self._tasks]
        for view in views:
            self._note(exit_code(view))
        if self._options.junit:
            try:
                junit.write(self._options.junit, views, self._session)
            except OSError as error:
                self._note(Exit.WRONG)
                self._say("error", f"{self._options.junit}: cannot be written: {error.strerror}")
        if not self._options.json:
            for view in views:
                if view.path in self._waited_for and view.cases:
                    print_task(self._out, view)
        if len(views) > 1 or self._options.json or self._waited_for:
            to = self._talk if self._options.json else self._out
            to.print()
            for view in views:
                print_verdict(to, view)

    def _note(self, code: Exit) -> None:
        self._code = max(self._code, code)

    def _say(self, level: ev.NoticeLevel, message: str) -> None:
        style = {"error": "bold red", "warning": "yellow", "info": ""}[level]
        self._talk.print(Text.assemble((f"{level}: ", style), plain(message)))

    def _stop(self) -> None:
        self._stopping = self._stopping or asyncio.create_task(self._link.stop())

    @contextmanager
    def _signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._interrupt, number)
        try:
            yield
        finally:
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                loop.remove_signal_handler(number)

    def _interrupt(self, number: int) -> None:
        if self._signalled is None:
            self._signalled = number
            self._say("info", "stopping: runs are cancelled and machines deleted; again to kill them at once")
            self._stop()
        else:
            self._link.kill()
