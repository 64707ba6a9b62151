"""How soon the screen is painted: the workbench's app against a bare Textual app.

Each is started in a pseudo-terminal, in alternation, and timed from the start of its process to the
moment when its first frame's text arrives.

    python tests/bench/startup.py [ROUNDS]
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.bench.screen import Screen

LIMIT = 1.3
ROUNDS = 9

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
    with Screen([sys.executable, "-P", "-c", program, *arguments]) as screen:
        return screen.wait_for(text) - started


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
