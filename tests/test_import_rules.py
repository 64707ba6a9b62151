"""What is loaded where: the two processes stay apart, and the rooms know only those before them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MACHINERY = ("harbor", "pydantic", "smol", "litellm")
LOADED = """
import importlib, pkgutil, sys
for name in sys.argv[2:]:
    module = importlib.import_module(name)
    for found in pkgutil.walk_packages(getattr(module, "__path__", ()), name + "."):
        if not found.name.endswith("__main__"):
            importlib.import_module(found.name)
print([name for name in sys.argv[1].split(",") if name in sys.modules])
"""


def loaded(wanted: tuple[str, ...], *modules: str) -> str:
    """Which of `wanted` are loaded after importing the modules and all in them."""
    command = [sys.executable, "-c", LOADED, ",".join(wanted), *modules]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_the_rooms_keep_their_order_and_no_import_goes_in_a_circle() -> None:
    program = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run(
        [program, "--no-logo", "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


def test_the_stream_loads_no_machinery_and_no_screen() -> None:
    stream = ("workbench.events", "workbench.wishes", "workbench.session", "workbench.link")
    assert loaded((*MACHINERY, "textual", "rich"), *stream) == "[]"


def test_the_command_line_starts_with_neither_face_nor_machinery() -> None:
    assert loaded((*MACHINERY, "textual", "rich"), "workbench.cli") == "[]"


def test_the_terminal_face_loads_no_machinery() -> None:
    assert loaded(MACHINERY, "workbench.ui") == "[]"


def test_the_headless_commands_load_no_machinery_and_no_textual() -> None:
    for room in ("check", "runs", "commands", "recording"):
        assert loaded((*MACHINERY, "textual"), f"workbench.{room}") == "[]"


@pytest.mark.parametrize("room", ["task", "images", "machines", "trials", "cases", "proof", "engine"])
def test_the_engine_loads_no_screen_and_no_litellm(room: str) -> None:
    assert loaded(("textual", "litellm"), f"workbench.{room}") == "[]"
