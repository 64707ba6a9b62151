"""Programs that print, hang and fail."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

import pytest

from workbench.images.errors import ImageError
from workbench.images.process import ask, follow, started


async def test_lines_come_as_they_are_printed_and_in_order() -> None:
    lines: list[str] = []
    code = await follow(["sh", "-c", "echo a; echo b >&2; printf 'c\\rd'; exit 7"], lines.append)
    assert (code, lines) == (7, ["a\n", "b\n", "c\rd"])


async def test_an_endless_line_comes_in_pieces() -> None:
    lines: list[str] = []
    await follow(["head", "-c", "300000", "/dev/zero"], lines.append)
    assert len(lines) > 1
    assert sum(map(len, lines)) == 300_000


async def test_what_is_not_utf8_is_survived() -> None:
    lines: list[str] = []
    await follow(["printf", "caf\\351\\n"], lines.append)
    assert lines == ["caf\ufffd\n"]


async def test_an_answer_is_standard_output_and_a_failure_its_last_words() -> None:
    assert await ask(["sh", "-c", "echo yes; echo no >&2"]) == "yes\n"
    with pytest.raises(ImageError, match=r"^the cause$"):
        await ask(["sh", "-c", "echo more >&2; echo the cause >&2; exit 1"])
    with pytest.raises(ImageError, match="exit code 3"):
        await ask(["sh", "-c", "exit 3"])


async def test_a_program_that_hangs_is_ended_in_time() -> None:
    with pytest.raises(ImageError, match=r"sleep 100 gave no answer within 0.1 s"):
        await ask(["sleep", "100"], timeout=0.1)


async def test_a_program_that_is_not_there_is_said() -> None:
    with pytest.raises(ImageError, match="no-such-program cannot be started: No such file"):
        await ask(["no-such-program"])


async def test_leaving_ends_the_children_too_even_those_that_ignore_being_told(tmp_path: Path) -> None:
    script = "trap '' TERM; sleep 1000 & echo $! $$ > pids; wait"
    async with started(["sh", "-c", f"cd {tmp_path}; {script}"]):
        while not (pids := (tmp_path / "pids")).exists() or not pids.read_text():
            await asyncio.sleep(0.01)
    assert [pid for pid in pids.read_text().split() if alive(pid)] == []


def alive(pid: str) -> bool:
    """Whether it runs; one that nobody has reaped yet does not."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    return False
