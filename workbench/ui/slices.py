"""Long work on the screen's own loop, in slices short enough that no key waits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

SLICE = 0.003
"""Seconds. A key passes through several widgets, and may find a slice before each."""
_EFFECT = 0.05
"""Seconds in which the effect of a key comes to the screen, if nothing else is done."""

_pressed = 0.0


def key_pressed() -> None:
    """Hold back what can wait, until the effect of a key is on the screen."""
    global _pressed
    _pressed = time.monotonic()


def since_key() -> float:
    """Seconds since the user did something."""
    return time.monotonic() - _pressed


async def after_keys() -> None:
    """Wait where the effect of a key may still be on its way to the screen."""
    if (left := _EFFECT - since_key()) > 0:
        await asyncio.sleep(left)


async def in_slices(work: Iterator[object]) -> None:
    """Run a generator to its end, letting everything else run between slices, and keys go first."""
    await after_keys()
    until = time.perf_counter() + SLICE
    for _ in work:
        if time.perf_counter() >= until:
            await asyncio.sleep(0)
            await after_keys()
            until = time.perf_counter() + SLICE
