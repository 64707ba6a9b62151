"""How soon the screen is painted: the workbench's app against a bare Textual app.

Each is started in a pseudo-terminal, in alternation, and timed from the start of its process to the
moment when its first frame's text arrives.

    python tests/bench/startup.py [ROUNDS]
"""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import statistics
import struct
import sys
import tempfile
import termios
import time
from pathlib import Path

LIMIT = 1.3
ROUNDS = 9
PATIENCE = 60.0

BARE = """
from textual.app import App
from textual.widgets import Static

class Bare(App):
    def compose(self):
        yield Static("first frame")

Bare().run()
"""
WORKBENCH = """
import sys
from workbench.cli import main
sys.argv = ["workbench", sys.argv[1]]
main()
"""


def first_frame(program: str, text: bytes, *arguments: str) -> float:
    """Seconds from the start of a Python program in a terminal to a text on its screen."""
    started = time.perf_counter()
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ |= {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
        os.execv(sys.executable, [sys.executable, "-P", "-c", program, *arguments])
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 160, 0, 0))
    try:
        seen = b""
        while text not in seen:
            ready, _, _ = select.select([terminal], [], [], PATIENCE)
            if not ready:
                raise TimeoutError(f"{text!r} never came; the last of the screen: {seen[-500:]!r}")
            seen += os.read(terminal, 65536)
        return time.perf_counter() - started
    finally:
        os.kill(pid, signal.SIGHUP)
        _end(pid, terminal)


def _end(pid: int, terminal: int) -> None:
    """Read on until the program has ended: one that writes to a full terminal would never end."""
    until = time.monotonic() + PATIENCE
    while os.waitpid(pid, os.WNOHANG) == (0, 0):
        if time.monotonic() > until:
            os.kill(pid, signal.SIGKILL)
        if select.select([terminal], [], [], 0.05)[0]:
            try:
                os.read(terminal, 65536)
            except OSError:
                time.sleep(0.05)
    os.close(terminal)


def main() -> int:
    """Print the table and the verdict."""
    rounds = max(5, int(sys.argv[1])) if len(sys.argv) > 1 else ROUNDS
    task = Path(__file__).parents[2] / "sample_tasks" / "slugify"
    with tempfile.TemporaryDirectory() as state:
        os.environ |= {"XDG_STATE_HOME": state, "XDG_CONFIG_HOME": state, "HARBOR_TELEMETRY": "off"}
        bare: list[float] = []
        own: list[float] = []
        whole: list[float] = []
        for _ in range(rounds + 1):
            bare.append(first_frame(BARE, b"first frame"))
            own.append(first_frame(WORKBENCH, b"slugify", str(task)))
            whole.append(first_frame(WORKBENCH, b"Cases", str(task)))
    # The first round fills the caches of the file system and of compiled modules.
    del bare[0], own[0], whole[0]
    print("seconds from the start of the process              median    best   worst")
    for name, values in (
        ("a bare Textual app's first frame", bare),
        ("workbench TASK_DIR: first frame", own),
        ("workbench TASK_DIR: main screen", whole),
    ):
        print(f"{name:<48}{statistics.median(values):9.3f}{min(values):8.3f}{max(values):8.3f}")
    ratio = statistics.median(mine / theirs for mine, theirs in zip(own, bare, strict=True))
    print(f"bench startup: {ratio:.2f} (required: <= {LIMIT})")
    return 0 if ratio <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
