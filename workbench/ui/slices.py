"""Long work on the screen's own loop, in slices short enough that no key waits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

SLICE = 0.003
"""Seconds. A key passes through several widgets, and may find a slice before each."""


async def in_slices(work: Iterator[None]) -> None:
    """Run a generator to its end, letting everything else run between slices."""
    until = time.perf_counter() + SLICE
    for _ in work:
        if time.perf_counter() >= until:
            await asyncio.sleep(0)
            until = time.perf_counter() + SLICE
