"""What Python does behind a screen's back, so arranged that no key waits for it."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_SWITCH = 0.0005
"""Seconds. Keys are read and frames are written by threads, each of which would else wait ten times as long
for its turn, once for a key and once for its effect, however short the work of the loop is cut."""
_NEVER = 1 << 30


@contextmanager
def answering() -> Iterator[None]:
    """Put keys first in this process, which has to be the screen's own.

    The garbage of long life is collected by `collect` alone: to look for it takes longer than a key may.
    """
    switch, thresholds = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(_SWITCH)
    gc.set_threshold(*thresholds[:2], _NEVER)
    try:
        yield
    finally:
        gc.unfreeze()
        gc.set_threshold(*thresholds)
        sys.setswitchinterval(switch)
        gc.collect()


def keep_what_is_loaded() -> None:
    """Never look for garbage in what is there now."""
    gc.freeze()


def collect() -> None:
    """Collect garbage while nobody waits."""
    if gc.get_count()[2]:
        gc.collect()
