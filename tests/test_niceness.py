"""Engines and what they start give way to who sits at the host."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from workbench import niceness
from workbench.images.process import follow
from workbench.link import EngineLink, EngineOptions
from workbench.machines.bubblewrap.processes import run

_AUTOGROUP = Path("/proc/self/autogroup")
_LATER = ("/bin/sh", "-c", "sleep 0.2; cat /proc/self/autogroup")

with_autogroups = pytest.mark.skipif(
    os.geteuid() != 0 or not _AUTOGROUP.exists(),
    reason="this kernel has no autogroups, or hears only ten wishes a second",
)


async def test_an_engine_gives_way(tmp_path: Path) -> None:
    async with EngineLink(EngineOptions(provider="bubblewrap", state_dir=tmp_path)) as link:
        async for _ in link.events():
            assert link.pid is not None
            assert os.getpriority(os.PRIO_PROCESS, link.pid) == os.getpriority(os.PRIO_PROCESS, 0) + 10
            break


@with_autogroups
async def test_so_does_its_session(tmp_path: Path) -> None:
    async with EngineLink(EngineOptions(provider="bubblewrap", state_dir=tmp_path)) as link:
        async for _ in link.events():
            assert Path(f"/proc/{link.pid}/autogroup").read_text().endswith(f"nice {niceness.NICE}\n")
            break


@with_autogroups
async def test_so_does_the_session_of_a_command() -> None:
    done = await run(_LATER, env=dict(os.environ))
    assert done.stdout.decode().endswith(f"nice {niceness.NICE}\n")


@with_autogroups
async def test_so_does_the_session_of_a_builder() -> None:
    lines: list[str] = []
    assert await follow(_LATER, lines.append) == 0
    assert lines[0].strip().endswith(f"nice {niceness.NICE}")


async def test_a_process_that_is_gone_is_no_fault() -> None:
    niceness.session_gives_way(2**22 + 1)
