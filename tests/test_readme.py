"""What the README says exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from workbench.cli import commands

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def test_its_pictures_are_there() -> None:
    pictures = re.findall(r"!\[.*?\]\((.*?)\)", README)
    assert len(pictures) == 3
    for picture in pictures:
        assert "<svg" in (ROOT / picture).read_text()[:200]


def test_it_lists_every_command() -> None:
    listed = set(re.findall(r"^    workbench ([a-z]+) ", README, re.MULTILINE))
    assert listed == commands.commands.keys() - {"open"}


@pytest.mark.parametrize("name", sorted(commands.commands))
def test_the_options_that_it_names_exist(name: str) -> None:
    known = {option for param in commands.commands[name].params for option in param.opts}
    said = re.findall(rf"`?workbench {name}\b[^`\n]*", README)
    used = {option for line in said for option in re.findall(r"--[a-z-]+", line)}
    assert used <= known


def test_every_option_it_names_is_one_of_some_command() -> None:
    theirs = {"--jobs"}
    """Of Harbor's."""
    known = {option for one in commands.commands.values() for param in one.params for option in param.opts}
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", README)) <= known | theirs | {"--help"}


def test_it_tells_of_every_sample_and_every_room() -> None:
    for task in (ROOT / "sample_tasks").glob("*/task.toml"):
        assert f"| `{task.parent.name}` |" in README
    for room in re.findall(r"`workbench/([a-z_]+)/`", README):
        assert (ROOT / "workbench" / room / "__init__.py").is_file()
