"""Shows trials that were made elsewhere: `python -m workbench.engine.elsewhere DIRECTORY`.

It speaks as an engine does, but has no machines, and runs nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Iterator, Sized
from importlib.metadata import version
from pathlib import Path

from workbench import events as ev
from workbench import places
from workbench import wishes as ws
from workbench.engine.stream import Emitter, read_wishes


def main() -> None:
    """Serve until standard input closes or a `stop` comes."""
    parser = argparse.ArgumentParser(prog="python -m workbench.engine.elsewhere")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--threshold", type=float, default=1.0)
    parser.add_argument("--state-dir", type=Path, default=places.state_dir())
    # The other options of an engine are about running.
    options, _ = parser.parse_known_args()
    emit = Emitter()
    emit(ev.EngineStarted(pid=os.getpid(), version=version("harbor-workbench")))
    asyncio.run(_serve(emit, options.directory, options.threshold, options.state_dir))


async def _serve(emit: Emitter, directory: Path, threshold: float, state: Path) -> None:
    emit(ev.ProviderChosen(name="files", label="trials made elsewhere", why=str(directory)))
    async for wish in read_wishes(emit):
        if isinstance(wish, ws.Stop):
            break
        if isinstance(wish, ws.OpenTask):
            for event in await asyncio.to_thread(lambda: list(tell(directory, threshold))):
                emit(event)
        elif isinstance(wish, ws.TellEarlierRuns):
            emit(ev.EarlierRunsTold(task=str(directory), runs=await _kept(emit, state, threshold)))
        elif not isinstance(wish, ws.UNASKED):
            message = "these trials were made elsewhere: nothing runs here; open the task itself for that"
            emit(ev.Notice(level="info", task=str(directory), message=message))
    emit(ev.EngineStopped())
    emit.close(1)


async def _kept(emit: Emitter, state: Path, threshold: float) -> tuple[ev.EarlierRun, ...]:
    """The runs of tasks here that are kept, to be put beside trials that were made elsewhere."""
    file = places.records_file(state)
    if not file.exists():
        return ()
    from workbench.engine.records import Records

    def say(message: str) -> None:
        emit(ev.Notice(level="warning", message=message))

    records = Records(file, say, "files", "", threshold)
    try:
        return await records.newest()
    finally:
        records.close()


def tell(directory: Path, threshold: float) -> Iterator[ev.Event]:
    """The trials in a directory as what happened: a case for each agent on each task.

    Args:
        directory: A trial's, a job's, or one with jobs in it.
        threshold: The least reward that passes.
    """
    # Harbor takes a second to import: the face hears of the engine before.
    from workbench.cases.case import Case
    from workbench.cases.judge import judge
    from workbench.cases.nop import nop_case
    from workbench.cases.oracle import oracle_case
    from workbench.proof.decide import decide
    from workbench.proof.verdict import Verdict
    from workbench.trials.found import FoundTrial, UnreadableTrialError, find_trials, read_trial, read_unended
    from workbench.trials.outcome import Outcome

    task = str(directory)

    def notice(message: str) -> ev.Notice:
        return ev.Notice(level="warning", task=task, message=message)

    ended, unended = find_trials(directory)
    trials: list[FoundTrial] = []
    for path in ended:
        try:
            trials.append(read_trial(path, threshold))
        except UnreadableTrialError as error:
            yield notice(str(error))
    with_result = tuple(trials)
    for path in unended:
        try:
            trials.append(read_unended(path, with_result))
        except UnreadableTrialError as error:
            yield notice(str(error))
    if unended:
        verb, others = ("has", "") if len(unended) == 1 else ("have", " and others")
        yield notice(f"{_trials(unended)} {verb} no result: {unended[0].name}{others}")
    several = len({trial.task for trial in trials}) > 1
    cases: dict[tuple[str, str], Case] = {}
    references = {"oracle": oracle_case(), "nop": nop_case()}
    order = [*references, *sorted({trial.agent for trial in trials} - references.keys())]
    for name, place in sorted({(trial.task, order.index(trial.agent)) for trial in trials}):
        agent = order[place]
        known = references.get(agent, Case(agent, "agent", None))
        shown = f"{name} · {agent}" if several else agent
        cases[name, agent] = Case(shown, known.kind, known.expect, known.why, script=known.script)
    names = sorted({trial.task for trial in trials})
    yield ev.TaskOpened(
        task=task,
        name=names[0] if len(names) == 1 else directory.name,
        image=_trials(trials) + (f" of {len(names)} tasks" if several else ""),
        threshold=threshold,
        trials_dir=task,
    )
    yield ev.CasesFound(task=task, cases=tuple(cases.values()))
    outcomes: dict[str, list[Outcome]] = {case.name: [] for case in cases.values()}
    for trial in sorted(trials, key=lambda trial: trial.ended_at):
        case = cases[trial.task, trial.agent]
        outcome = judge(case, trial.outcome, trial.path)
        if outcome.kind != "cancelled":
            outcomes[case.name].append(outcome)
        yield ev.RunRecalled(
            task=task,
            case=case.name,
            run=str(trial.path),
            outcome=outcome,
            ran_at=trial.ended_at,
            trial_dir=str(trial.path),
        )
    verdict = decide(tuple(cases.values()), outcomes)
    if not verdict.total:
        passed = sum(outcome.kind == "passed" for found in outcomes.values() for outcome in found)
        verdict = Verdict("unproven", f"{passed} of {len(trials)} trials passed; none of them had to")
    yield ev.VerdictReached(task=task, verdict=verdict)
    yield ev.Settled(task=task)


def _trials(found: Sized) -> str:
    return f"{len(found)} trial{'' if len(found) == 1 else 's'}"


if __name__ == "__main__":
    main()
