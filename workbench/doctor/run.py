"""The command `workbench doctor`."""

from __future__ import annotations

import asyncio
import sys

import msgspec

from workbench.console import console
from workbench.doctor.examine import examine
from workbench.doctor.show import show


def doctor(*, as_json: bool = False, again: bool = False) -> int:
    """Print what this host offers.

    Args:
        as_json: The `Report` as one JSON object, for programs.
        again: Boot a microVM even when it is remembered how that went.

    Returns:
        The exit code: 0 when machines can be made, 3 when not.
    """
    report = asyncio.run(examine(again=again))
    if as_json:
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(report), indent=2).decode() + "\n")
    else:
        show(console(), report)
    return 0 if report.chosen else 3
