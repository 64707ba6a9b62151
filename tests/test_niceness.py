"""What runs behind a screen gives way to it, and so does all that it starts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.bench.screen import Screen
from workbench import niceness
from workbench.link import EngineLink, EngineOptions

_AUTOGROUP = Path("/proc/self/autogroup")
_STARTS_OTHERS = """
import asyncio, os
from workbench.images.process import follow
from workbench.machines.bubblewrap.processes import run
later = ("/bin/sh", "-c", "sleep 0.2; cat /proc/self/autogroup")
os.nice(5)
print(asyncio.run(run(later, env={})).stdout.decode().strip())
asyncio.run(follow(later, lambda line: print(line.strip())))
"""


async def priority(options: EngineOptions) -> int:
    """How nice an engine is, above this process."""
    async with EngineLink(options) as link:
        await anext(link.events())
        assert link.pid is not None
        return os.getpriority(os.PRIO_PROCESS, link.pid) - os.getpriority(os.PRIO_PROCESS, 0)


async def test_an_engine_gives_way_to_a_screen_and_to_nobody_else(tmp_path: Path) -> None:
    options = EngineOptions(provider="bubblewrap", state_dir=tmp_path)
    assert await priority(options) == 0
    assert await priority(options.behind_a_screen()) == niceness.NICE


def test_the_screen_asks_for_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    sample = Path(__file__).parents[1] / "sample_tasks" / "slugify"
    command = [sys.executable, "-m", "workbench", str(sample), "--provider", "bubblewrap"]
    with Screen([*command, "--paused", "--no-shell"]) as screen:
        screen.wait_for(b"slugify")
        screen.wait_for(b"bubblewrap: namespaces")
        (engine,) = psutil.Process(screen.pid).children()
        assert engine.nice() == psutil.Process().nice() + niceness.NICE
        screen.press(b"q", b"\x1b[?1049l")
        screen.wait()


@pytest.mark.skipif(
    os.geteuid() != 0 or not _AUTOGROUP.exists(), reason="no autogroups, or not all wishes are heard"
)
def test_a_session_that_is_started_is_worth_no_more() -> None:
    done = subprocess.run([sys.executable, "-c", _STARTS_OTHERS], capture_output=True, text=True, check=True)
    assert [line.rpartition(" ")[2] for line in done.stdout.splitlines()] == ["5", "5"]


def test_a_process_that_is_gone_is_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getpriority", lambda *_: 5)
    niceness.session_is_worth_as_much(2**22 + 1)
