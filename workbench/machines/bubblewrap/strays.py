"""Ends what a crash left running: machines end with their process, unless a stopped nsenter holds one up."""

from __future__ import annotations

import contextlib
import signal
from pathlib import Path

import psutil

from workbench.machines.bubblewrap.census import inhabitants, pid_namespace
from workbench.machines.bubblewrap.processes import signal_all


def end_strays(directory: Path) -> None:
    """Kill the machines whose files are in `directory`, a session's, and the nsenters that wait in them."""
    for bwrap in psutil.process_iter(["cmdline"]):
        words = bwrap.info["cmdline"] or []
        if not any(word.startswith(f"{directory}/") for word in words):
            continue
        with contextlib.suppress(psutil.Error):
            for first in bwrap.children():
                inside = inhabitants(pid_namespace(first.pid))
                signal_all([process.pid for process in inside], signal.SIGKILL)
                outside = {process.parent for process in inside if process.entered} - {bwrap.pid}
                signal_all(outside, signal.SIGKILL)
