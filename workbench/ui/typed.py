"""What is typed on standard input, whatever that is."""

from __future__ import annotations

import asyncio
import os
import selectors
import sys
from collections.abc import AsyncIterator

_PIECE = 64 * 1024
"""Bytes read at once."""


async def typed() -> AsyncIterator[str]:
    """The lines of standard input."""
    descriptor = sys.stdin.fileno()
    if not _can_be_waited_for(descriptor):
        for line in sys.stdin.buffer:
            yield line.decode("utf-8", "replace")
        return
    loop, reader = asyncio.get_running_loop(), asyncio.StreamReader()

    def take() -> None:
        try:
            data = os.read(descriptor, _PIECE)
        except OSError:  # such as a terminal that is gone
            data = b""
        if data:
            reader.feed_data(data)
        else:
            reader.feed_eof()
            loop.remove_reader(descriptor)

    # Not a pipe of asyncio's, which lets nothing block. A terminal shares that with standard output, which
    # then fails where it is slow, and with whatever reads the terminal afterwards.
    loop.add_reader(descriptor, take)
    try:
        while line := await reader.readline():
            yield line.decode("utf-8", "replace")
    finally:
        loop.remove_reader(descriptor)


def _can_be_waited_for(descriptor: int) -> bool:
    """Whether it is a terminal or a pipe: a file and `/dev/null` have all they will ever have."""
    with selectors.DefaultSelector() as selector:
        try:
            selector.register(descriptor, selectors.EVENT_READ)
        except OSError:
            return False
        return True
