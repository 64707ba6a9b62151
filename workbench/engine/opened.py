"""One opened task: read, watched, its images built, and what a save makes stale."""

from __future__ import annotations

import asyncio
import contextlib
import difflib
import secrets
import time
from collections.abc import Coroutine, Iterable
from pathlib import Path

from workbench import events as ev
from workbench import places
from workbench.cases.agents import agent_case, agent_problem
from workbench.cases.case import AgentSpec, Case, Trace
from workbench.engine.case_runs import CaseRuns
from workbench.engine.images import is_in_registry
from workbench.engine.reading import Reading, on_images, read, read_again, why_stale
from workbench.engine.services import Services
from workbench.engine.shells import Shells
from workbench.images.errors import ImageError
from workbench.task.diagnose import diagnose
from workbench.task.problem import Problem
from workbench.task.watch import watch

REPEATS = 200
"""The most trials that one wish gets; faces keep no more ended runs of a task."""
LOOK_SECONDS = 0.3
"""After a save, before its files are looked through for faults: its verdict comes first."""


class OpenedTask:
    """Watches a task, replays its cases, and says what they come to.

    Attributes:
        runs: Of its cases.
        shells: On its machines.
    """

    def __init__(self, path: Path, services: Services) -> None:
        self.path = path
        self.task = str(path)
        self._services = services
        self._emit = services.emit
        self._trials_dir = places.trials_dir(services.state_dir, path) / _session_name()
        self.runs = CaseRuns(self.task, services, self._trials_dir)
        self.shells = Shells(path, services, self.runs, self._trials_dir)
        self._now: Reading | None = None
        """The task as last read; None while it cannot be read."""
        self._last: Reading | None = None
        """The task as it was when it could last be read."""
        self._only: tuple[str, ...] = ()
        self._agents: tuple[Case, ...] = ()
        self._cached = False
        self._replaying = False
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._image_problems: tuple[Problem, ...] = ()
        self._lock = asyncio.Lock()

    async def open(
        self,
        *,
        watching: bool,
        replaying: bool,
        cached: bool = False,
        only: tuple[str, ...] = (),
        agents: tuple[AgentSpec, ...] = (),
    ) -> None:
        """Read the task, and start what was asked for."""
        async with self._lock:
            self._agents = tuple(agent_case(spec) for spec in agents if self._has(spec))
            self._only, self._cached, self._replaying = only, cached, replaying
            await self._read()
            if self._now is not None:
                for name in sorted(set(only) - self.runs.known.keys()):
                    self._no_case(name)
            self._say_watching(watching)
            self.set_tracing(self.runs.trace)
            if watching or not replaying:
                self._start_watching()
            if not self._build():
                await self._begin()
            await self.runs.expect()

    async def _begin(self) -> None:
        """Show what receipts know, and replay what was asked for, once the task can be read."""
        if self._now is None:
            self.runs.settle()
            return
        cached = self._cached
        recalling = self.runs.watching or cached
        # To stand in for a run it must be of a whole trial; to be shown, any receipt will do.
        whole = cached and self._replaying
        recalled = await self.runs.recall(self.runs.known, whole=whole) if recalling else set()
        if self._replaying:
            for name, known in self.runs.known.items():
                if name not in recalled:
                    self.runs.queue(known, "opened")
                elif not cached and known.case.kind != "agent":
                    # Its proof is shown already; the run keeps its state for what comes next.
                    self.runs.queue(known, "opened", confirming=True)
        self._replaying = False
        self.runs.settle()

    async def replay(self, names: Iterable[str], why: str) -> None:
        """Queue whole trials of the cases named, of all when none is."""
        await self._until_current()
        async with self._lock:
            if self._now is None:
                self._notice("the task cannot be run; see its problems")
                return
            known = self.runs.known
            for name in list(names) or list(known):
                if name not in known:
                    self._no_case(name)
                    continue
                self.runs.end(name)
                self.runs.queue(known[name], why)
            self.runs.settle()

    async def repeat(self, name: str, times: int) -> None:
        """Queue so many whole trials of one case; what runs of it goes on."""
        await self._until_current()
        await self._until_bootable()
        async with self._lock:
            if self._now is None:
                self._notice("the task cannot be run; see its problems")
            elif name not in self.runs.known:
                self._no_case(name)
            else:
                times = min(times, REPEATS)
                for number in range(1, times + 1):
                    self.runs.queue(self.runs.known[name], f"repeated, {number} of {times}", times=times)
                self.runs.settle()

    async def open_shell(self, shell: str, on: str) -> None:
        """Make a machine for a shell, once the task has been read and there is an image to boot."""
        await self._until_bootable()
        await self.shells.open(shell, on)

    async def _until_bootable(self) -> None:
        """Wait until the task has been read, and for the first image of one that is built."""
        async with self._lock:
            pass  # whoever holds it reads the task
        while self._is_building and self._now and not self._services.images.ready(self._now.loaded):
            await asyncio.wait({self._tasks["build"]})

    async def _until_current(self) -> None:
        """Build what no save builds: what runs on a stale image proves nothing."""
        async with self._lock:
            if not self.runs.image_stale or self.runs.watching:
                return
            if not self._is_building:
                self._build()
        await asyncio.wait({self._tasks["build"]})

    def cancel(self, run: str) -> None:
        """End one run, or with `run` empty all of this task's and a build."""
        if run:
            self._services.runner.cancel(run)
            return
        self.runs.end()
        self.cancel_build()

    def cancel_build(self) -> None:
        """End the build that runs, if one does."""
        if building := self._tasks.get("build"):
            building.cancel()
            if self._now is not None:
                self._background("images", self._look_at_images(self._now))

    async def set_watching(self, watching: bool) -> None:
        """Pause or resume; what went stale meanwhile is replayed on resuming."""
        async with self._lock:
            self._say_watching(watching)
            self._start_watching()
            if watching and not self._build():
                if self._replaying:
                    await self._begin()
                self.runs.replay_stale()
                self.runs.settle()

    def set_tracing(self, trace: Trace) -> None:
        """Whose scripts' commands are told apart, from the next run on."""
        self.runs.trace = trace
        self._emit(ev.TracingChanged(task=self.task, trace=trace))

    async def close(self) -> None:
        """Stop watching and building."""
        self.runs.close()
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def tell_receipt(self) -> None:
        """Tell the proof of the task as its receipts have it."""
        async with self._lock:
            await self._read()
            if self._now is None:
                return
            now = await on_images(self._now, self._services)
            cases = [known.case for known in self.runs.known.values()]
            keys = {case.name: now.keys_of(case) for case in cases}
            receipt = await self._services.records.describe(
                self.task,
                now.loaded.name,
                now.digest,
                cases,
                {name: of_case for name, (of_case, _) in keys.items()},
                {name: ingredients for name, (_, ingredients) in keys.items()},
            )
            if receipt is not None:
                self._emit(ev.ReceiptTold(task=self.task, receipt=receipt))
            self.runs.settle()

    async def tell_earlier_runs(self) -> None:
        """Tell the newest runs that are kept, of whatever task."""
        runs = await self._services.records.newest()
        self._emit(ev.EarlierRunsTold(task=self.task, runs=runs))

    # Reading

    async def _read(self) -> None:
        """Read the task as it is now. What was known stays where it cannot be read."""
        problems, now = await read(self.path, self._services, self._agents)
        self._take(problems, now)
        if now is not None:
            await self._diagnose(problems, now)

    async def _diagnose(self, problems: tuple[Problem, ...], now: Reading) -> None:
        """Look for what is wrong with a task that runs."""
        found = await asyncio.to_thread(diagnose, now.loaded)
        every = tuple(dict.fromkeys((*self._image_problems, *problems, *found)))
        self._emit(ev.ProblemsFound(task=self.task, problems=every))

    def _take(self, problems: tuple[Problem, ...], now: Reading | None) -> None:
        self._now = now
        self.shells.loaded = now.loaded if now else None
        if now is None:
            self._emit(ev.ProblemsFound(task=self.task, problems=problems))
            reason = next((str(problem) for problem in problems if problem.severity == "error"), "")
            self._emit(ev.TaskUnreadable(task=self.task, reason=reason or "it cannot be read"))
            self.runs.take(None)
            return
        self._last = now
        loaded = now.loaded
        self._emit(
            ev.TaskOpened(
                task=self.task,
                name=loaded.name,
                image=loaded.image,
                in_registry=is_in_registry(loaded, loaded.image),
                verifier=loaded.verifier,
                steps=loaded.step_names,
                network=loaded.network,
                threshold=self._services.settings.threshold,
                trials_dir=str(self._trials_dir),
            )
        )
        self.runs.take(now, self._only)

    # Watching

    def _say_watching(self, watching: bool) -> None:
        self.runs.watching = watching
        self._emit(ev.WatchingChanged(task=self.task, watching=watching))

    def _start_watching(self) -> None:
        """Follow the files from now on; whether that starts anything is another matter."""
        if "watch" not in self._tasks:
            self._background("watch", self._watch())

    async def _watch(self) -> None:
        async for batch in watch(self.path):
            for message in batch.notices:
                self._notice(message, "warning")
            async with self._lock:
                await self._changed(tuple(sorted(batch.paths)))

    async def _changed(self, paths: tuple[str, ...]) -> None:
        """Take a batch of saves in; a batch without paths only looks again."""
        before, problems = self._last, tuple[Problem, ...]()
        now = await read_again(before, self._services) if before and self._now else None
        if now is None:
            problems, now = await read(self.path, self._services, self._agents)
        self._take(problems, now)
        if now is None:
            if paths:
                self._emit(ev.FilesChanged(task=self.task, paths=paths, why="the task cannot be read"))
            self.runs.settle()
            return
        if before is None:
            await self._first_read(problems, now, paths)
            return
        if not self.runs.watching:
            self._background("images", self._look_at_images(now))
        elif not self._is_building:
            self._build()
        elif now.snapshot is not before.snapshot:
            self._background("images", self._build_if_overtaken(now))
        why = self.runs.find_stale(before, now, paths, building=self._is_building)
        if paths or why:
            stale = tuple(name for name in self.runs.known if name in why)
            words = "; ".join(dict.fromkeys(why.values()))
            self._emit(ev.FilesChanged(task=self.task, paths=paths, stale=stale, why=words))
            await self.runs.go_stale(why)
            self._background("look", self._look_thoroughly())

    async def _first_read(self, problems: tuple[Problem, ...], now: Reading, paths: tuple[str, ...]) -> None:
        """Begin with a task that could not be read when it was opened."""
        self._emit(ev.FilesChanged(task=self.task, paths=paths, why="the task can be read now"))
        await self._diagnose(problems, now)
        if not self.runs.watching:
            self.runs.settle()
        elif not self._build():
            await self._begin()
        await self.runs.expect()

    async def _look_thoroughly(self) -> None:
        """Say what is wrong with the files now, when the runs that a save asks for are well under way."""
        await asyncio.sleep(LOOK_SECONDS)
        async with self._lock:
            problems, now = await read(self.path, self._services, self._agents)
            if now is None:
                self._take(problems, None)
            else:
                await self._diagnose(problems, now)

    def _background(self, name: str, work: Coroutine[None, None, None]) -> None:
        """Do this in the background, instead of what was begun under the same name before."""
        if before := self._tasks.get(name):
            before.cancel()
        self._tasks[name] = asyncio.create_task(work, name=f"{name} {self.task}")

    # Images

    @property
    def _is_building(self) -> bool:
        return "build" in self._tasks and not self._tasks["build"].done()

    def _build(self) -> bool:
        """Bring the images up to date in the background; whether runs have to wait for that."""
        images, now = self._services.images, self._now
        if now is None or self._services.provider.builds or not images.contexts(now.loaded):
            return False
        self._background("build", self._bring_up_to_date(now))
        return not images.ready(now.loaded)

    async def _bring_up_to_date(self, now: Reading) -> None:
        images = self._services.images
        problem: Problem | None = None
        try:
            await images.ensure(now.loaded)
        except ImageError as error:
            file = images.failing(now.loaded) or now.loaded.image
            line = getattr(error, "line", None)
            problem = Problem(file, "image-not-built", "warning", str(error), error.hint, line)
        stale = await why_stale(now, self._services) if problem else ""
        async with self._lock:
            self._image_problems = (problem,) if problem else images.problems(now.loaded)
            self.runs.nothing_because = f"no image could be built: {problem}" if problem else ""
            await self._read()
            if self._now is None or not images.ready(self._now.loaded):
                self.runs.settle()
                return
            why = self.runs.find_stale(now, self._now, ())
            if self._replaying and not stale:
                await self._begin()
            elif why and not self._replaying:
                await self.runs.go_stale(why)
            self.runs.take_images(stale)
            if self._replaying:
                self.runs.settle()  # what was asked for waits for an image that can be built

    async def _build_if_overtaken(self, now: Reading) -> None:
        """Build anew where saves changed what is being built; other saves leave the build alone."""
        with contextlib.suppress(ImageError):
            if not await self._services.images.overtaken(now.loaded):
                return
        async with self._lock:
            self._build()

    async def _look_at_images(self, now: Reading) -> None:
        """Say whether images are stale, where no save builds them."""
        images = self._services.images
        if self._is_building:
            await asyncio.wait({self._tasks["build"]})
        if self._services.provider.builds or not images.ready(now.loaded):
            return
        with contextlib.suppress(ImageError):
            why = await images.look(now.loaded)
            async with self._lock:
                if not why:
                    self._image_problems, self.runs.nothing_because = images.problems(now.loaded), ""
                self.runs.take_images(why)

    async def ask_registries(self, *, fetch: bool) -> None:
        """Say what the names of the task's images stand for now in their registries.

        Args:
            fetch: Fetch those that moved, too, and build on them.
        """
        if self._now is None:
            self._notice("the task cannot be read; see its problems")
        elif await self._services.images.tell_registries(self._now.loaded, fetch=fetch):
            async with self._lock:
                self._build()

    def _has(self, spec: AgentSpec) -> bool:
        """Whether Harbor has this agent; if not, that is said."""
        if problem := agent_problem(spec):
            self._notice(problem)
        return not problem

    def _no_case(self, name: str) -> None:
        """Say which cases there are, those named most alike first."""
        names = [case.name for case in self._now.cases] if self._now else []
        names.sort(key=lambda known: -difflib.SequenceMatcher(None, name, known).ratio())
        self._notice(f"there is no case {name!r}; there are: {', '.join(names)}")

    def _notice(self, message: str, level: ev.NoticeLevel = "error") -> None:
        self._emit(ev.Notice(level=level, task=self.task, message=message))


def _session_name() -> str:
    return f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"
