"""Builds a context as whoever runs this, and prints what came of it.

python -m tests.images.build_by CONTEXT STORE
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from workbench.images.builder import BuildError
from workbench.images.find import find_builder
from workbench.images.keeper import ImageKeeper
from workbench.images.store import ImageStore


async def _build(context: Path, store: Path) -> str:
    builder = await find_builder(store, "buildah")
    try:
        await ImageKeeper(context, ImageStore(store), builder).ensure()
    except BuildError as error:
        return f"{error.line}: {error}"
    return "built"


if __name__ == "__main__":
    print(asyncio.run(_build(*map(Path, sys.argv[1:]))))
