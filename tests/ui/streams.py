"""Recorded streams: scripted events with fixed times, and a source that plays them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field

import msgspec

from workbench import events as ev
from workbench.cases.case import Case
from workbench.proof.verdict import Verdict, VerdictKind
from workbench.task.problem import Problem
from workbench.trials.outcome import Outcome, PhaseName, Test
from workbench.wishes import LookAt, Wish

TASK = "/home/author/tasks/slugify"
START = 1_760_000_000.0

CASES = (
    Case("oracle", "oracle", "pass", script="solution/solve.sh"),
    Case("nop", "nop", "fail"),
    Case("truncates-title", "negative", "fail", "cuts the title at 20 characters", ("test_long_title",)),
    Case("hard-coded", "negative", "fail", "answers the examples of the instruction only"),
    Case("keeps-accents", "negative", "fail", "leaves accented letters as they are"),
)


class RecordedSource:
    """Plays events, then waits for more until it is told to end.

    Attributes:
        sent: Every wish so far, but for those in `looks`.
        looks: The cases that were looked at for a while. When that is told depends on time.
        starts: How often an engine was started.
    """

    def __init__(self, events: Iterable[ev.Event] = (), *, fails: str = "") -> None:
        self.sent: list[Wish] = []
        self.looks: list[str] = []
        self.starts = 0
        self.stopped = False
        self._fails = fails
        self._recorded = list(events)
        self._more: asyncio.Queue[ev.Event | None] = asyncio.Queue()
        self._died: int | None = None
        self._waiting = False

    @property
    def all_taken(self) -> bool:
        """Whether the app took everything that there is so far."""
        return (self._waiting and self._more.empty()) or bool(self._fails)

    @property
    def died(self) -> int | None:
        return self._died

    async def start(self) -> None:
        if self._fails:
            raise OSError(self._fails)
        self.starts += 1
        self._died = None

    restart = start

    async def events(self) -> AsyncIterator[ev.Event]:
        recorded, self._recorded = self._recorded, []
        for event in recorded:
            yield event
        while True:
            self._waiting = True
            event_or_end = await self._more.get()
            self._waiting = event_or_end is None
            if event_or_end is None:
                return
            yield event_or_end

    async def send(self, wish: Wish) -> None:
        if isinstance(wish, LookAt):
            self.looks.append(wish.case)
        else:
            self.sent.append(wish)

    async def stop(self) -> None:
        self.stopped = True

    def feed(self, *events: ev.Event) -> None:
        """Let more happen."""
        for event in events:
            self._more.put_nowait(event)

    def die(self, code: int) -> None:
        """End the stream as an engine that was killed does."""
        self._died = code
        self._more.put_nowait(None)


@dataclass
class Stream:
    """Writes a stream, with a clock of its own."""

    now: float = START
    events: list[ev.Event] = field(default_factory=list)

    def wait(self, seconds: float) -> Stream:
        self.now += seconds
        return self

    def add(self, event: ev.Event) -> Stream:
        self.events.append(event)
        return self

    def engine(self) -> Stream:
        self.add(ev.EngineStarted(at=self.now, pid=4242, version="0.1.0"))
        return self.add(
            ev.ProviderChosen(
                at=self.now,
                name="bubblewrap",
                label="bubblewrap: namespaces, not a VM",
                why="no /dev/kvm on this machine",
            )
        )

    def task(self, cases: tuple[Case, ...] = CASES, problems: tuple[Problem, ...] = ()) -> Stream:
        self.add(
            ev.TaskOpened(
                at=self.now,
                task=TASK,
                name="demo/slugify",
                image="python:3.12-slim",
                in_registry=True,
                network="no-network",
            )
        )
        self.add(ev.ProblemsFound(at=self.now, task=TASK, problems=problems))
        self.add(ev.CasesFound(at=self.now, task=TASK, cases=cases))
        return self.add(ev.WatchingChanged(at=self.now, task=TASK, watching=True))

    def made_elsewhere(self) -> Stream:
        """Turn what was opened into trials that were made elsewhere, such as a job of Harbor's."""
        for index, event in enumerate(self.events):
            if isinstance(event, ev.TaskOpened):
                self.events[index] = msgspec.structs.replace(event, trials_dir=event.task)
        return self

    def queue(self, case: str, run: str = "", why: str = "the task was opened", times: int = 1) -> Stream:
        run = run or f"{case}-1"
        return self.add(ev.RunQueued(at=self.now, task=TASK, case=case, run=run, why=why, times=times))

    def start(self, case: str, run: str = "") -> Stream:
        run = run or f"{case}-1"
        return self.add(
            ev.RunStarted(at=self.now, task=TASK, case=case, run=run, trial_dir=f"/nowhere/{run}")
        )

    def phase(self, run: str, phase: PhaseName) -> Stream:
        return self.add(ev.PhaseStarted(at=self.now, run=run, phase=phase))

    def print(self, run: str, text: str, source: ev.OutputSource = "verifier") -> Stream:
        return self.add(ev.Output(at=self.now, run=run, source=source, text=text))

    def end(self, case: str, outcome: Outcome, run: str = "") -> Stream:
        return self.add(
            ev.RunEnded(at=self.now, task=TASK, case=case, run=run or f"{case}-1", outcome=outcome)
        )

    def verdict(self, kind: VerdictKind, reason: str, held: int, total: int, *cases: str) -> Stream:
        verdict = Verdict(kind, reason, cases, held, total)
        return self.add(ev.VerdictReached(at=self.now, task=TASK, verdict=verdict))

    def settled(self) -> Stream:
        return self.add(ev.Settled(at=self.now, task=TASK))

    def whole(
        self,
        case: str,
        outcome: Outcome,
        output: str = "",
        *,
        run: str = "",
        environment: float = 0.42,
        agent: float = 0.11,
        verifier: float = 0.78,
    ) -> Stream:
        """A run from beginning to end."""
        run = run or f"{case}-1"
        self.queue(case, run).start(case, run)
        self.phase(run, "environment").wait(environment).phase(run, "agent").wait(agent)
        self.phase(run, "verifier").wait(verifier)
        if output:
            self.print(run, output)
        return self.end(case, outcome, run)


def passed() -> Outcome:
    return Outcome(kind="passed", reason="reward 1.0", reward=1.0, rewards={"reward": 1.0}, met=True)


def failed(reason: str = "reward 0.0", *tests: Test) -> Outcome:
    return Outcome(
        kind="failed", reason=reason, reward=0.0, rewards={"reward": 0.0}, met=True, tests=tuple(tests)
    )


RED, GREEN, BOLD, RESET = "\x1b[31m", "\x1b[32m", "\x1b[1m", "\x1b[0m"
_START = "=" * 29 + " test session starts " + "=" * 30 + "\ncollected 6 items\n\n"
PASSING = (
    f"{_START}tests/test_outputs.py {GREEN}......{RESET}{'[100%]':>52}\n\n"
    f"{GREEN}{'=' * 30} {BOLD}6 passed{RESET}{GREEN} in 0.05s {'=' * 31}{RESET}\n"
)
FAILING = (
    f"{_START}tests/test_outputs.py {GREEN}..{RED}F{GREEN}...{RESET}{'[100%]':>52}\n\n"
    f"{'=' * 35} FAILURES {'=' * 35}\n"
    f"{RED}{BOLD}{'_' * 31} test_long_title {'_' * 32}{RESET}\n\n"
    "    def test_long_title():\n"
    '>       assert slugify("A long title, which goes on") == "a-long-title-which-goes-on"\n'
    f"{BOLD}{RED}E       AssertionError: assert 'a-long-title-which-g' == 'a-long-...-on'{RESET}\n\n"
    f"{BOLD}{RED}tests/test_outputs.py{RESET}:31: AssertionError\n"
    f"{RED}{'=' * 25} {BOLD}1 failed{RESET}, {GREEN}5 passed{RESET}{RED} in 0.07s {'=' * 25}{RESET}\n"
)


def holding() -> Stream:
    """Every case came out as it must."""
    stream = Stream().engine().wait(0.3).task().wait(0.1)
    stream.whole("oracle", passed(), PASSING)
    stream.whole("nop", failed("reward 0.0"), FAILING, verifier=0.51)
    stream.whole("truncates-title", failed("reward 0.0: test_long_title failed"), FAILING, verifier=0.83)
    stream.whole("hard-coded", failed("reward 0.0"), FAILING, verifier=0.66)
    stream.whole("keeps-accents", failed("reward 0.0"), FAILING, verifier=0.71)
    return stream.verdict("holds", "all 5 cases came out as they must", 5, 5).settled()


def empty() -> Stream:
    """An engine that has begun, and a task that is being read."""
    return Stream().engine()


def busy() -> Stream:
    """Two cases came out, two run, one waits."""
    stream = Stream().engine().wait(0.3).task().wait(0.1)
    stream.whole("oracle", passed(), PASSING)
    stream.whole("nop", failed("failed as it must: test_title, test_long_title"), FAILING, verifier=0.51)
    for case in ("truncates-title", "hard-coded", "keeps-accents"):
        stream.queue(case)
    stream.start("truncates-title").phase("truncates-title-1", "environment").wait(0.4)
    stream.start("hard-coded").phase("hard-coded-1", "environment")
    stream.phase("truncates-title-1", "agent").wait(0.2).phase("truncates-title-1", "verifier")
    return stream.wait(0.9).print("truncates-title-1", FAILING[:200])


def cannot_fail() -> Stream:
    """A wrong solution passes."""
    stream = Stream().engine().wait(0.3).task().wait(0.1)
    stream.whole("oracle", passed(), PASSING)
    stream.whole("nop", failed(), FAILING, verifier=0.51)
    stream.whole("truncates-title", failed("failed as it must: test_long_title"), FAILING)
    wrong = Outcome(
        kind="passed",
        reason="graded 1.0, but it must fail: the harness cannot fail here",
        reward=1.0,
        rewards={"reward": 1.0},
        met=False,
        tests=tuple(
            Test(f"test_outputs.py::test_{name}", "passed", seconds=0.01) for name in ("title", "accents")
        ),
    )
    stream.whole("hard-coded", wrong, PASSING, verifier=0.66)
    void = Outcome(kind="void", reason="the verifier ran no test", reward=0.0, rewards={"reward": 0.0})
    stream.whole("keeps-accents", void, "sh: 7: pytest: not found\n", verifier=0.05)
    return stream.verdict("cannot fail", "hard-coded must fail, but passed", 3, 5, "hard-coded").settled()


def broken() -> Stream:
    """The oracle fails, and the files have problems."""
    problems = (
        Problem(
            "tests/test.sh",
            "exit-status",
            "warning",
            "`set -e` ends the script before the reward is written",
            "write the reward in a trap",
            7,
        ),
        Problem(
            "task.toml", "toml-key", "error", "unknown key `timout_sec`", "did you mean `timeout_sec`?", 12, 1
        ),
    )
    stream = Stream().engine().wait(0.3).task(problems=problems).wait(0.1)
    oracle = Outcome(
        kind="failed",
        reason="solve.sh exited with 1; graded 0.0",
        reward=0.0,
        rewards={"reward": 0.0},
        met=False,
        detail=("+ python3 slugify.py", "python3: can't open file '/app/slugify.py'"),
        agent_exit_code=1,
        tests=(
            Test("test_outputs.py::test_title", "failed", "AssertionError: no file /app/out.txt", 0.01),
            Test("test_outputs.py::test_accents", "passed", seconds=0.002),
            Test("test_outputs.py::test_slow", "skipped"),
        ),
    )
    stream.queue("oracle").start("oracle").phase("oracle-1", "environment").wait(0.4)
    stream.phase("oracle-1", "agent").print("oracle-1", "+ python3 slugify.py\npython3: ...\n", "agent")
    stream.wait(0.1).phase("oracle-1", "verifier").wait(0.7).print("oracle-1", FAILING).end("oracle", oracle)
    reason = "oracle must pass: solve.sh exited with 1; graded 0.0"
    return stream.verdict("broken", reason, 0, 5, "oracle").settled()


def died() -> Stream:
    """The engine was killed while cases ran."""
    stream = busy().wait(0.5)
    return stream.add(
        ev.EngineFailed(
            at=stream.now,
            message="the engine was killed by SIGKILL",
            hint="its log is ~/.local/state/workbench/logs/engine.log",
        )
    )
