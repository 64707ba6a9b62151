"""Runs an engine: `python -m workbench.engine`."""

from __future__ import annotations

import argparse
import asyncio
import os
from pathlib import Path

from workbench import places
from workbench.engine.stream import Emitter
from workbench.niceness import give_way


def main() -> None:
    """Serve until standard input closes or a `stop` comes."""
    parser = argparse.ArgumentParser(prog="python -m workbench.engine")
    parser.add_argument("--provider", default="")
    parser.add_argument("-n", "--concurrency", type=int, default=None)
    parser.add_argument("--threshold", type=float, default=1.0)
    parser.add_argument("--state-dir", type=Path, default=None)
    parser.add_argument("--confirm", choices=["idle", "always", "never"], default="idle")
    parser.add_argument("--idle", type=float, default=3.0, metavar="SECONDS")
    parser.add_argument("--on-change", choices=["kill", "wait"], default="kill")
    parser.add_argument("--grace", type=float, default=0.0, metavar="SECONDS")
    parser.add_argument("--trace", choices=["none", "negatives", "all"], default="negatives")
    parser.add_argument("--builder", default="")
    parser.add_argument("--builder-image", default="")
    parser.add_argument("--keep-states", type=int, default=64, metavar="COUNT")
    parser.add_argument("--keep-memory", type=int, default=4096, metavar="MIB")
    parser.add_argument("--give-way", action="store_true")
    options = parser.parse_args()
    os.environ["HARBOR_TELEMETRY"] = "off"
    if options.give_way:
        give_way()
    emit = Emitter()
    # Harbor takes a second to import: the face hears of the engine before.
    from workbench.engine.serve import serve
    from workbench.engine.services import Settings
    from workbench.machines.states import Budget

    asyncio.run(
        serve(
            emit,
            provider=options.provider,
            concurrency=options.concurrency,
            settings=Settings(
                threshold=options.threshold,
                confirm=options.confirm,
                idle_seconds=options.idle,
                on_change=options.on_change,
                grace_seconds=options.grace,
                trace=options.trace,
                builder=options.builder,
                builder_image=options.builder_image,
                states=Budget(options.keep_states, options.keep_memory << 20),
            ),
            state=options.state_dir or places.state_dir(),
        )
    )


if __name__ == "__main__":
    main()
