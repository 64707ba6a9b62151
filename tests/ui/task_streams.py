"""Recorded streams of shells, builds, costs, receipts and re-verification."""

from __future__ import annotations

from tests.ui.streams import CASES, FAILING, PASSING, TASK, Stream, failed, holding, passed
from workbench import events as ev
from workbench.images.build_events import (
    BuildEvent,
    BuildFailed,
    BuildStarted,
    ImageReady,
    StepDone,
    StepOutput,
    StepStarted,
)
from workbench.machines.machine import GuestUsage, HostCommand
from workbench.proof.documents import Slower
from workbench.trials.outcome import Outcome, Phase, PhaseName

PROMPT = "root@slugify:/app#"
GUEST = GuestUsage(cpu_percent=3.2, memory_used_bytes=212 << 20, memory_total_bytes=2 << 30)
DOCKERFILE = (
    (1, "FROM python:3.12-slim"),
    (3, "RUN pip install flask"),
    (4, "WORKDIR /app"),
    (5, "COPY app.py /app/"),
)
MINUTE, HOUR = 60.0, 3600.0


def again(outcome: Outcome) -> Outcome:
    """The same, of a re-verification."""
    return Outcome(
        kind=outcome.kind,
        reason=outcome.reason,
        reward=outcome.reward,
        rewards=outcome.rewards,
        met=outcome.met,
        whole=False,
    )


def prompt(text: str = PROMPT) -> HostCommand:
    """A shell that is none: it shows a prompt, and what one types."""
    return HostCommand(("/bin/sh", "-c", f"printf '{text} '; exec cat"), {"PATH": "/usr/bin:/bin"})


class TaskStream(Stream):
    """Writes what the engine says of images, machines and receipts."""

    def image(self, build: BuildEvent, directory: str = "environment") -> TaskStream:
        self.add(ev.ImageEvent(at=self.now, task=TASK, directory=directory, build=build))
        return self

    def dockerfile(self) -> TaskStream:
        """The task's image is built here."""
        self.add(ev.TaskOpened(at=self.now, task=TASK, name="demo/slugify", image="environment/Dockerfile"))
        return self

    def build(self, why: str = "there is no image yet", upto: int = 4, *, cached: int = 0) -> TaskStream:
        """A build that has begun with the step numbered `upto`, those before it being over."""
        lines = tuple(line for line, _ in DOCKERFILE)
        self.image(BuildStarted(builder="buildah 1.39.3", why=why, lines=lines))
        for number, (line, text) in enumerate(DOCKERFILE[:upto], 1):
            self.image(StepStarted(step=number, text=text, line=line))
            if number == upto:
                break
            self.wait(0.5)
            self.image(StepDone(step=number, seconds=0.5, cached=number <= cached))
        return self

    def ready(
        self, seconds: float = 4.2, *, same: bool = False, directory: str = "environment"
    ) -> TaskStream:
        key = "0123456789abcdef" * 4
        archive = "/home/author/.cache/workbench/images/01234567/image.tar"
        return self.image(
            ImageReady(key=key, result=key[::-1], archive=archive, seconds=seconds, same=same), directory
        )

    def built(self) -> TaskStream:
        """A whole build, from its start to its image."""
        self.dockerfile()
        self.build()
        self.wait(0.2)
        return self.image(StepDone(step=4, seconds=0.2)).ready()

    def shell(self, key: str = "image-1", title: str = "the image", text: str = PROMPT) -> TaskStream:
        self.add(ev.ShellReady(at=self.now, task=TASK, shell=key, title=title, command=prompt(text)))
        return self

    def costs(self) -> TaskStream:
        """Two shells' machines, and three states."""
        machines = (
            ev.MachineCost("image-1", "the image", 12 << 20, 0.31, 3),
            ev.MachineCost("oracle-2", "what oracle left", 29 << 20, 1.4, 7, "", GUEST),
        )
        states = tuple(
            ev.MachineCost(f"slugify:{name}:", f"what {name} left", size)
            for name, size in (("oracle", 800 << 10), ("nop", 200 << 10), ("hard-coded", 1 << 20))
        )
        self.add(ev.CostsMeasured(at=self.now, machines=machines, states=states))
        return self

    def save(self, path: str = "tests/test.sh", *stale: str) -> TaskStream:
        """A save that makes cases stale, all when none is named."""
        names = stale or tuple(case.name for case in CASES)
        why = f"{path} changed"
        self.add(ev.FilesChanged(at=self.now, task=TASK, paths=(path,), stale=names, why=why))
        for name in names:
            self.add(ev.CaseStale(at=self.now, task=TASK, case=name, why=why))
        return self

    def reverify(
        self,
        case: str,
        outcome: Outcome,
        *,
        run: str = "",
        verifier: float = 0.4,
        slower: tuple[Slower, ...] = (),
    ) -> TaskStream:
        """A re-verification from beginning to end."""
        run = run or f"{case}-2"
        self.queue(case, run, "tests/test.sh changed")
        self.add(
            ev.RunStarted(
                at=self.now, task=TASK, case=case, run=run, trial_dir=f"/nowhere/{run}", whole=False
            )
        )
        self.phase(run, "environment").wait(0.02).phase(run, "verifier").wait(verifier)
        self.print(run, PASSING if outcome.kind == "passed" else FAILING)
        ended = ev.RunEnded(at=self.now, task=TASK, case=case, run=run, outcome=again(outcome), slower=slower)
        self.add(ended)
        return self

    def recall(self, case: str, outcome: Outcome, age: float = 2 * HOUR) -> TaskStream:
        """A receipt of an earlier run is taken."""
        at = self.now - age
        outcome = Outcome(
            kind=outcome.kind,
            reason=outcome.reason,
            reward=outcome.reward,
            rewards=outcome.rewards,
            met=outcome.met,
            phases=(Phase("environment", at - 1.3, at - 0.8), Phase("verifier", at - 0.8, at)),
        )
        self.add(
            ev.RunRecalled(
                at=self.now,
                task=TASK,
                case=case,
                run=f"{case}-0",
                outcome=outcome,
                ran_at=at,
                trial_dir=f"/nowhere/{case}-0",
            )
        )
        return self

    def expecting(self, case: str, run: str, **seconds: float) -> TaskStream:
        """A run begins whose phases are expected to take so long."""
        names: dict[str, PhaseName] = {"environment": "environment", "agent": "agent", "verifier": "verifier"}
        expected = tuple(ev.Expected(names[name], took) for name, took in seconds.items())
        self.queue(case, run)
        self.add(
            ev.RunStarted(
                at=self.now,
                task=TASK,
                case=case,
                run=run,
                trial_dir=f"/nowhere/{run}",
                expected=expected,
            )
        )
        return self


def _after(stream: Stream) -> TaskStream:
    return TaskStream(stream.now, stream.events)


def opened_task() -> TaskStream:
    """A task whose cases have all come out as they must."""
    return _after(holding())


def building() -> TaskStream:
    """An image is built anew while the one before serves."""
    stream = _after(Stream().engine().wait(0.3).task().wait(0.1)).built()
    stream.whole("oracle", passed(), PASSING)
    stream.wait(12)
    stream.build("environment/app.py changed", 2, cached=1)
    for line in ("Collecting flask", "  Downloading flask-3.0.0-py3-none-any.whl (99 kB)"):
        stream.image(StepOutput(step=2, text=f"{line}\n"))
    stream.wait(3.4)
    return stream


def build_failed() -> TaskStream:
    """An instruction failed; the image before still serves."""
    stream = building()
    stream.image(StepOutput(step=2, text="ERROR: No matching distribution found for flask\n"))
    return stream.image(
        BuildFailed(message="ended with exit code 1", line=3, instruction="RUN pip install flask")
    )


def reverified() -> TaskStream:
    """A save of the tests; every case but the last was verified again, of which one got slower."""
    stream = opened_task()
    stream.wait(5)
    stream.save()
    slower = (Slower(phase="verifier", before=0.78, now=1.9),)
    stream.reverify("oracle", passed(), verifier=1.9, slower=slower)
    for name in ("nop", "truncates-title", "hard-coded"):
        stream.reverify(name, failed())
    stream.whole("keeps-accents", failed(), FAILING, run="keeps-accents-2")
    stream.verdict("holds", "all 5 cases came out as they must", 5, 5).settled()
    return stream


def recalled() -> TaskStream:
    """A task that was opened again: its proof is that of two hours ago, and whole trials confirm it."""
    stream = _after(Stream().engine().wait(0.3).task().wait(0.1))
    stream.recall("oracle", passed())
    for case in CASES[1:]:
        stream.recall(case.name, failed())
    stream.verdict("holds", "all 5 cases came out as they must", 5, 5)
    for case in CASES[2:]:
        stream.queue(case.name, f"{case.name}-1", "opened")
    stream.expecting("oracle", "oracle-1", environment=0.4, agent=0.2, verifier=0.9)
    stream.phase("oracle-1", "environment").wait(0.4).phase("oracle-1", "agent").wait(0.2)
    stream.phase("oracle-1", "verifier").wait(0.3)
    return stream


def differed() -> TaskStream:
    """A whole trial came out otherwise than the re-verification before it."""
    stream = reverified()
    stream.wait(3)
    wrong = Outcome(kind="passed", reason="reward 1.0", reward=1.0, rewards={"reward": 1.0}, met=False)
    stream.whole("hard-coded", wrong, PASSING, run="hard-coded-3")
    stream.add(
        ev.ConfirmationDiffered(
            at=stream.now,
            task=TASK,
            case="hard-coded",
            run="hard-coded-3",
            reverified="failed: reward 0.0",
            whole="passed: reward 1.0",
        )
    )
    stream.verdict("cannot fail", "hard-coded must fail, but passed", 4, 5, "hard-coded").settled()
    return stream
