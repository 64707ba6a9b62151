"""Runs an engine: `python -m workbench.engine`."""

from __future__ import annotations

import argparse
import asyncio
import os
from pathlib import Path

from workbench import places
from workbench.engine.stream import Emitter


def main() -> None:
    """Serve until standard input closes or a `stop` comes."""
    parser = argparse.ArgumentParser(prog="python -m workbench.engine")
    parser.add_argument("--provider", default="")
    parser.add_argument("-n", "--concurrency", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--threshold", type=float, default=1.0)
    parser.add_argument("--state-dir", type=Path, default=None)
    options = parser.parse_args()
    os.environ["HARBOR_TELEMETRY"] = "off"
    emit = Emitter()
    # Harbor takes a second to import: the face hears of the engine before.
    from workbench.engine.serve import serve

    asyncio.run(
        serve(
            emit,
            provider=options.provider,
            concurrency=options.concurrency,
            threshold=options.threshold,
            state=options.state_dir or places.state_dir(),
        )
    )


if __name__ == "__main__":
    main()
