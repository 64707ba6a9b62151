"""Where the instructions of a Dockerfile stand, and which images it names.

Only that: builders interpret Dockerfiles. Lines are needed to say where a step stands, which buildah does not
tell, and images to notice that one has moved. Syntax: https://docs.docker.com/reference/dockerfile/.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

from workbench.images.errors import ImageError
from workbench.images.oci import host_architecture

_DIRECTIVE = re.compile(r"^#\s*(\w+)\s*=\s*(.*?)\s*$")
_HEREDOC = re.compile(r"(?:^|\s)\d*<<(-?)([\"']?)([A-Za-z_][\w.]*)\2(?=\s|$)")
_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)(?::?([-+])([^}]*))?\})")


class Instruction(msgspec.Struct, frozen=True):
    """One instruction of a Dockerfile."""

    keyword: str
    """In capitals, such as `RUN`."""
    text: str
    """The whole of it on one line, without comments, single spaces between words."""
    line: int
    """1-based, the first one."""
    last_line: int
    stage: int
    """Stages count from 0; what stands before the first FROM has -1."""
    heredoc: bool = False


class Dockerfile(msgspec.Struct, frozen=True):
    """The instructions of a Dockerfile, in order."""

    instructions: tuple[Instruction, ...]

    @property
    def stages(self) -> tuple[tuple[Instruction, ...], ...]:
        """The instructions of each stage; the first of each is its FROM."""
        count = max((instruction.stage for instruction in self.instructions), default=-1) + 1
        return tuple(tuple(i for i in self.instructions if i.stage == stage) for stage in range(count))

    @property
    def stage_names(self) -> tuple[str, ...]:
        """The name each stage goes by, as BuildKit shows it."""
        names = []
        for number, stage in enumerate(self.stages):
            words = stage[0].text.split()
            named = len(words) > 2 and words[-2].upper() == "AS"
            names.append(words[-1].lower() if named else f"stage-{number}")
        return tuple(names)

    def images(self, args: Mapping[str, str] = {}) -> tuple[str, ...]:
        """The images it starts from or copies from, by name, without its own stages.

        Args:
            args: Build arguments, which names may contain.
        """
        values = self._global_args(args)
        names = self.stage_names
        found: dict[str, None] = {}
        for instruction in self.instructions:
            # Only a stage before: `FROM golang AS golang` starts from an image.
            stages = {*names[: max(instruction.stage, 0)], *map(str, range(instruction.stage)), "scratch", ""}
            for name in _named(instruction):
                expanded = _expand(name, values)
                if expanded.lower() not in stages:
                    found[expanded] = None
        return tuple(found)

    def _global_args(self, args: Mapping[str, str]) -> dict[str, str]:
        platform = {"OS": "linux", "ARCH": host_architecture(), "PLATFORM": f"linux/{host_architecture()}"}
        values = {side + name: value for side in ("BUILD", "TARGET") for name, value in platform.items()}
        for instruction in self.instructions:
            if instruction.stage < 0 and instruction.keyword == "ARG":
                for word in instruction.text.split()[1:]:
                    name, _, default = word.partition("=")
                    values[name] = args.get(name, _expand(default.strip("\"'"), values)) or values.get(
                        name, ""
                    )
        return values


def _expand(text: str, values: Mapping[str, str]) -> str:
    def value(found: re.Match[str]) -> str:
        known = values.get(found[1] or found[2], "")
        if found[3] == "+":
            return found[4] if known else ""
        return known or found[4] or ""

    return _VARIABLE.sub(value, text)


def is_pinned(image: str) -> bool:
    """Whether an image's name stands for the same content for ever."""
    return "@sha256:" in image


def read_dockerfile(path: Path) -> Dockerfile:
    """The Dockerfile at `path`.

    Raises:
        ImageError: it cannot be read.
    """
    try:
        return parse_dockerfile(path.read_bytes().decode("utf-8-sig", "replace"))
    except OSError as error:
        raise ImageError(f"{path}: {error.strerror}") from None


def parse_dockerfile(text: str) -> Dockerfile:
    """The instructions in `text`. Never fails: what is wrong with a Dockerfile is the builder's to say."""
    lines = text.splitlines()
    escape = _escape(lines)
    found: list[Instruction] = []
    stage = -1
    number = 0
    while number < len(lines):
        start = number
        parts: list[str] = []
        while number < len(lines):
            line = lines[number]
            number += 1
            if line.lstrip().startswith("#") or not line.strip():
                if not parts:
                    break
                continue
            stripped = line.rstrip()
            if not stripped.endswith(escape):
                parts.append(stripped)
                break
            parts.append(stripped.removesuffix(escape))
        joined = " ".join("".join(parts).split())
        if not joined:
            continue
        keyword = joined.split()[0].upper()
        heredocs = _HEREDOC.findall(joined) if keyword in ("RUN", "COPY", "ADD") else []
        last = number
        for dash, _, delimiter in heredocs:
            last = _heredoc_end(lines, last, delimiter, tabs=bool(dash))
        heredoc = bool(heredocs) and last > number
        number = last
        stage += keyword == "FROM"
        found.append(Instruction(keyword, joined, start + 1, number, stage, heredoc))
    return Dockerfile(tuple(found))


def _escape(lines: list[str]) -> str:
    """The character that continues a line; parser directives stand before everything else."""
    for line in lines:
        directive = _DIRECTIVE.match(line)
        if not directive:
            break
        if directive[1].lower() == "escape":
            return directive[2]
    return "\\"


def _heredoc_end(lines: list[str], start: int, delimiter: str, *, tabs: bool) -> int:
    """The number of lines up to and with the delimiter; `start` when it never comes."""
    for number in range(start, len(lines)):
        if (lines[number].lstrip("\t") if tabs else lines[number]) == delimiter:
            return number + 1
    return start


def _named(instruction: Instruction) -> list[str]:
    words = instruction.text.split()[1:]
    if instruction.keyword == "FROM":
        return [word for word in words if not word.startswith("--")][:1]
    flags = [word for word in words if word.startswith("--")]
    if instruction.keyword in ("COPY", "ADD"):
        return [flag.removeprefix("--from=") for flag in flags if flag.startswith("--from=")]
    if instruction.keyword == "RUN":
        options = [part for flag in flags if flag.startswith("--mount=") for part in flag[8:].split(",")]
        return [option.removeprefix("from=") for option in options if option.startswith("from=")]
    return []
