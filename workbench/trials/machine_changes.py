"""What changed in a bubblewrap machine, read by this process, or where its files' owners exist."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import cast

import msgspec

from workbench.machines.bubblewrap.machine import BubblewrapMachine
from workbench.machines.bubblewrap.processes import run
from workbench.machines.machine import MachineError
from workbench.trials import layer_changes
from workbench.trials.file_changes import Changes
from workbench.trials.file_compare import Seen
from workbench.trials.layer_changes import Look, Question, answer


async def look_at(machine: BubblewrapMachine) -> Look:
    """What a machine's own layers hold now.

    Raises:
        MachineError: they cannot be read.
    """
    return await _answer(machine, Question(machine.layers), dict[str, Seen])


async def changes_of(machine: BubblewrapMachine, before: Look) -> Changes:
    """What changed in a machine since a look.

    Raises:
        MachineError: its layers cannot be read.
    """
    return await _answer(machine, Question(machine.layers, before), Changes)


async def _answer[T](machine: BubblewrapMachine, question: Question, kind: type[T]) -> T:
    try:
        return cast(T, await asyncio.to_thread(answer, question))
    except PermissionError:
        # Some files belong to users that this process is not.
        return await _ask(machine, question, kind)


async def _ask[T](machine: BubblewrapMachine, question: Question, kind: type[T]) -> T:
    """Have it answered where the files' owners exist."""
    fd = os.memfd_create("question")
    try:
        os.write(fd, msgspec.json.encode(question))
        os.lseek(fd, 0, os.SEEK_SET)
        python = [sys.executable, "-m", layer_changes.__name__]
        env = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        done = await run([*machine.as_owner, *python], env=env, stdin=fd)
    finally:
        os.close(fd)
    if done.exit_code:
        raise MachineError(f"reading the files of {machine.name}: {done.stderr.decode(errors='replace')}")
    return msgspec.json.decode(done.stdout, type=kind)
