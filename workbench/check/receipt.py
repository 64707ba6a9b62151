"""The proof of a task as its receipts tell it, printed for a review."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import msgspec

from workbench import events as ev
from workbench.check.result import Exit
from workbench.check.targets import TargetError, find_tasks
from workbench.console import plain
from workbench.link import EngineLink, EngineOptions, EngineStartError
from workbench.proof.documents import ProofReceipt
from workbench.wishes import TellReceipt


def tell_receipt(path: Path, engine: EngineOptions) -> int:
    """Print the receipt of the task at `path` as JSON, and say on standard error what it does not prove.

    Returns:
        An `Exit` code: `HOLDS` where every case came out as it must with the files as they are.
    """
    try:
        tasks = find_tasks([path])
        if len(tasks) != 1:
            raise TargetError(f"{path}: there are {len(tasks)} tasks in it; name one")
        return asyncio.run(_ask(tasks[0], engine))
    except TargetError as error:
        return _refuse(Exit.WRONG, str(error))
    except EngineStartError as error:
        return _refuse(Exit.MACHINERY, str(error))


async def _ask(task: Path, engine: EngineOptions) -> int:
    async with EngineLink(engine) as link:
        await link.send(TellReceipt(task=str(task)))
        async for event in link.events():
            match event:
                case ev.ReceiptTold():
                    return _print(event.receipt)
                case ev.TaskUnreadable():
                    return _refuse(Exit.WRONG, event.reason)
                case ev.EngineFailed():
                    hint = f"; {event.hint}" if event.hint else ""
                    return _refuse(Exit.MACHINERY, event.message + hint)
                case ev.Notice() if event.level != "info":
                    _say(event.message)
                case ev.Settled():
                    break
    return _refuse(Exit.MACHINERY, "the receipts cannot be read")


def _print(receipt: ProofReceipt) -> int:
    print(msgspec.json.format(msgspec.json.encode(receipt), indent=2).decode())
    if receipt.stale:
        for why in receipt.stale:
            _say(f"stale: {why}")
        return Exit.DOES_NOT_HOLD
    if receipt.verdict.kind != "holds":
        _say(f"{receipt.verdict.kind}: {receipt.verdict.reason}")
        return Exit.DOES_NOT_HOLD
    return Exit.HOLDS


def _refuse(code: Exit, why: str) -> Exit:
    _say(f"Error: {why}")
    return code


def _say(text: str) -> None:
    print(plain(text), file=sys.stderr)
