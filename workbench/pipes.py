"""Standard streams that close early, as in `workbench check . | head`."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def ending_quietly() -> Iterator[None]:
    """End without a word, as a program does that SIGPIPE ends, once nobody reads what is printed."""
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        # Python flushes the streams once more on its way out, and would complain.
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        sys.exit(128 + signal.SIGPIPE)
