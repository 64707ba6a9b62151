"""Names that are not part of a task: what Harbor leaves out of its digests, and what editors drop."""

from __future__ import annotations

import re
from fnmatch import translate
from pathlib import PurePath

from harbor.publisher.packager import DEFAULT_IGNORES

_NAMES = (
    *(pattern.rstrip("/") for pattern in DEFAULT_IGNORES),
    ".git",
    ".hg",
    ".svn",
    # made by tools that check the author's files
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    # Vim: swap files beyond .swp and .swo, and the probe that it writes before a save
    ".*.sw?",
    "4913",
    # Emacs: autosaves and locks
    "#*#",
    ".#*",
    "*___jb_tmp___",  # JetBrains
    "*___jb_old___",
    "*.kate-swp",
    "*.vsctmp",  # VS Code
    "*.save",  # nano, when it is killed
    "*.save.[0-9]*",
    ".goutputstream-*",  # GNOME
    ".nfs*",
    ".fuse_hidden*",
    "._*",  # macOS, on other file systems
)
_IGNORED = re.compile("|".join(map(translate, _NAMES)))


def is_ignored(path: PurePath | str) -> bool:
    """Whether `path`, relative to the task, has a part that is not the author's work."""
    return any(_IGNORED.match(part) for part in PurePath(path).parts)
