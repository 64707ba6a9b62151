"""History: how long each phase of each run took, what that lets one expect, and what got slower."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from sqlite3 import Connection
from statistics import median, quantiles

import msgspec

from workbench.proof.database import KEPT_SECONDS, Database
from workbench.proof.documents import PhaseStats, Slower
from workbench.trials.outcome import Outcome, Phase, PhaseName

KEPT = 200
"""Runs kept of one kind; older ones are dropped."""
RECENT = 50
"""The newest runs of one kind, which say what to expect. After half as many a new pace is the usual one."""
ENOUGH = 8
"""The least runs that have a spread."""
LEAST_SECONDS = 0.01
"""A phase that took this little longer is not slower: that is the host's scheduler."""

type Durations = dict[tuple[PhaseName, str], float]
"""Seconds by phase and step; the step is empty in a task of one."""


class RunKind(msgspec.Struct, frozen=True, kw_only=True):
    """Runs that can be compared: durations elsewhere, or of another case, say nothing of these."""

    task: str
    """Absolute directory."""
    case: str
    provider: str
    machine: str
    """The host."""
    whole: bool = True
    """Whole trials, else re-verifications."""


class History:
    """The durations in a database. Any thread may use it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def record(self, kind: RunKind, outcome: Outcome, at: float) -> None:
        """Keep how long a run's phases took. Old runs are dropped. A cancelled run is let go.

        Args:
            at: Unix seconds when it ended.

        Raises:
            DatabaseError: it cannot be written.
        """
        if outcome.kind == "cancelled":
            return
        group = (*_group(kind), sound(outcome))
        taken = [_Took(phase, step, seconds) for (phase, step), seconds in durations(outcome.phases).items()]
        row = (*group, outcome.kind, at, _encoder.encode(taken))

        def work(connection: Connection) -> None:
            connection.execute(_INSERT, row)
            connection.execute(_DROP_OLD, (at - KEPT_SECONDS,))
            connection.execute(_DROP_MANY, group * 2)

        self._database.write(work)

    def expected(self, kind: RunKind) -> Durations:
        """How long each phase will take: the median of the newest runs that came out as they must.

        Phases that no such run had are missing.

        Raises:
            DatabaseError: it cannot be read.
        """
        return {key: median(values) for key, values in self._recent(kind).items()}

    def slower(self, kind: RunKind, outcome: Outcome) -> tuple[Slower, ...]:
        """The phases of a run that took longer than before. Ask before recording it.

        A phase is slower when it took longer than the median of at least 8 earlier runs of its kind by more
        than three standard deviations, taken as 1.4826 times the median absolute deviation: unlike the
        standard deviation itself, that is not widened by the one run in which the host was busy. As few
        runs may by chance agree to the millisecond, it must also be more than 10 % and more than 0.01 s.
        Only runs that came out as they must are compared, as one that fails early or late takes another way.

        Raises:
            DatabaseError: it cannot be read.
        """
        if not sound(outcome):
            return ()
        before = self._recent(kind)
        return tuple(
            Slower(phase, median(before[phase, step]), now, step)
            for (phase, step), now in durations(outcome.phases).items()
            if len(before[phase, step]) >= ENOUGH and now > _limit(before[phase, step])
        )

    def tasks(self) -> list[str]:
        """The directories of all tasks of which there are durations, sorted.

        Raises:
            DatabaseError: it cannot be read.
        """
        rows = self._database.read(lambda connection: connection.execute(_TASKS).fetchall())
        return [task for (task,) in rows]

    def stats(self, task: str) -> tuple[PhaseStats, ...]:
        """The durations of a task's phases, by case, in the order in which phases happen.

        Raises:
            DatabaseError: it cannot be read.
        """
        rows = self._database.read(lambda connection: connection.execute(_STATS, (task,)).fetchall())
        found: dict[tuple[RunKind, bool], list[bytes]] = defaultdict(list)
        for case, provider, machine, whole, sound_, phases in rows:
            kind = RunKind(task=task, case=case, provider=provider, machine=machine, whole=bool(whole))
            found[kind, bool(sound_)].append(phases)
        return tuple(
            PhaseStats(
                case=kind.case,
                phase=phase,
                step=step,
                provider=kind.provider,
                machine=kind.machine,
                whole=kind.whole,
                sound=sound_,
                count=len(values),
                median=median(values),
                p95=quantiles(values, n=20, method="inclusive")[-1] if len(values) > 1 else values[0],
            )
            for (kind, sound_), runs in found.items()
            for (phase, step), values in _collect(runs).items()
        )

    def _recent(self, kind: RunKind) -> dict[tuple[PhaseName, str], list[float]]:
        query = (*_group(kind), True)
        rows = self._database.read(lambda connection: connection.execute(_RECENT, query).fetchall())
        return _collect(phases for (phases,) in rows)


def sound(outcome: Outcome) -> bool:
    """Whether a run came out as it must; for a case without an expectation, whether it passed."""
    return outcome.kind == "passed" if outcome.met is None else outcome.met


def durations(phases: Sequence[Phase]) -> Durations:
    """How long each phase took that has ended, in the order in which they began."""
    taken: Durations = defaultdict(float)
    for phase in phases:
        if (seconds := phase.seconds) is not None:
            taken[phase.name, phase.step] += seconds
    return taken


class _Took(msgspec.Struct, frozen=True, array_like=True):
    phase: PhaseName
    step: str
    seconds: float


def _group(kind: RunKind) -> tuple[str, str, str, str, bool]:
    return (kind.task, kind.case, kind.provider, kind.machine, kind.whole)


def _collect(runs: Iterable[bytes]) -> dict[tuple[PhaseName, str], list[float]]:
    values: dict[tuple[PhaseName, str], list[float]] = defaultdict(list)
    for run in runs:
        # One that another version wrote in another shape is as good as none.
        with contextlib.suppress(msgspec.DecodeError):
            for took in _decoder.decode(run):
                values[took.phase, took.step].append(took.seconds)
    return values


def _limit(values: Sequence[float]) -> float:
    middle = median(values)
    deviation = median(abs(value - middle) for value in values)
    return middle + max(3 * 1.4826 * deviation, 0.1 * middle, LEAST_SECONDS)


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(list[_Took])

_COLUMNS = "task, case_name, provider, machine, whole, sound"
_SAME = "task = ? AND case_name = ? AND provider = ? AND machine = ? AND whole = ? AND sound = ?"
_INSERT = f"INSERT INTO runs ({_COLUMNS}, kind, at, phases) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_RECENT = f"SELECT phases FROM runs WHERE {_SAME} ORDER BY id DESC LIMIT {RECENT}"
_TASKS = "SELECT DISTINCT task FROM runs ORDER BY task"
_STATS = """
    SELECT case_name, provider, machine, whole, sound, phases FROM runs
    WHERE task = ? ORDER BY case_name, provider, machine, whole DESC, sound DESC, id
"""
_DROP_OLD = "DELETE FROM runs WHERE at < ?"
_DROP_MANY = f"""
    DELETE FROM runs WHERE {_SAME} AND id <= (
        SELECT id FROM runs WHERE {_SAME} ORDER BY id DESC LIMIT 1 OFFSET {KEPT}
    )
"""
