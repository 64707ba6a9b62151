"""Probes this host and prints the outcome as JSON: `python -m tests.machines.bubblewrap.prober DIRECTORY`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import msgspec

from workbench.machines.bubblewrap.probe import probe

if __name__ == "__main__":
    place = Path(sys.argv[1])
    print(msgspec.json.encode(asyncio.run(probe(place / "machines", place / "cache"))).decode())
