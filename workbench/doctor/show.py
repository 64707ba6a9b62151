"""A report for a person's eyes."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from workbench.console import plain
from workbench.doctor.report import Report
from workbench.machines.provider import Probe

_GIB = 1 << 30


def show(out: Console, report: Report) -> None:
    """Print it: what is used, who makes machines, who builds images, and where things are kept."""
    out.print(Text(" · ".join(f"{name} {found}" for name, found in report.versions.items()), style="dim"))
    out.print()
    if report.chosen:
        chosen = next(probe for probe in report.providers if probe.provider == report.chosen)
        out.print(Text.assemble("Machines are made by ", (plain(chosen.label), "bold"), "."))
    else:
        out.print(Text("Nothing here makes machines; what to do stands below.", style="bold red"))
    out.print()
    out.print(_table("provider", [_provider(probe) for probe in report.providers]))
    out.print()
    out.print(
        _table("builds images", [(tool.name, tool.usable, [tool.why], tool.hint) for tool in report.builders])
    )
    out.print()
    for place in report.places:
        free = f"{place.free_bytes / _GIB:.1f} GiB free"
        out.print(Text(f"{place.what}: {plain(place.path)} ({free})", style="dim"))


type _Row = tuple[str, bool, list[str], str]
"""Name, whether it is usable, lines about it, and the next command."""


def _provider(probe: Probe) -> _Row:
    details = ", ".join(f"{name} {found}" for name, found in probe.details.items())
    return (
        probe.provider,
        probe.usable,
        [probe.why, *probe.limits, *([details] if details else [])],
        probe.hint,
    )


def _table(title: str, rows: list[_Row]) -> Table:
    table = Table(box=None, pad_edge=False, show_edge=False)
    table.add_column(title, no_wrap=True)
    table.add_column("usable", no_wrap=True)
    table.add_column("why, and what next", overflow="fold")
    for name, usable, (why, *more), hint in rows:
        said = Text(plain(why))
        for line in more:
            said.append(f"\n{plain(line)}", "dim")
        if hint:
            said.append(f"\nnext: {plain(hint)}", "yellow" if not usable else "")
        mark = Text("✓ yes", "green") if usable else Text("✗ no", "red")
        table.add_row(Text(name, "bold"), mark, said)
    return table
