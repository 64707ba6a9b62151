"""What is typed on standard input, whatever that is."""

from __future__ import annotations

import asyncio
import selectors
import sys
from collections.abc import AsyncIterator


async def typed() -> AsyncIterator[str]:
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
