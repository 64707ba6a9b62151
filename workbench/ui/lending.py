"""The terminal lent to another program, this screen out of its way."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

from textual.app import App


def lend(app: App[Any], words: Sequence[str], env: Mapping[str, str] | None = None) -> int:
    """Run a program in the terminal until it ends.

    Args:
        env: Its environment; this process's own where there is none.

    Returns:
        Its exit code, as a shell tells it.

    Raises:
        OSError: it cannot be started.
        SuspendNotSupported: this terminal cannot be lent.
    """
    with app.suspend():
        # Nothing may be raised in here: Textual would not take the terminal back.
        ended = _run(words, env)
    if isinstance(ended, OSError):
        raise ended
    return ended if ended >= 0 else 128 - ended


def _run(words: Sequence[str], env: Mapping[str, str] | None) -> int | OSError:
    # Ctrl-C reaches all who are in front, and is meant for the program, which starts with the default.
    before = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        return subprocess.run(words, env=env, check=False).returncode
    except OSError as error:
        return error
    finally:
        signal.signal(signal.SIGINT, before)
