"""The doctor on hosts of all kinds: what it says, and what programs can read of it."""

from __future__ import annotations

import io
import json

import msgspec
import pytest
from rich.console import Console

from workbench.doctor import examine as examining
from workbench.doctor import run
from workbench.doctor.examine import examine
from workbench.doctor.report import Report
from workbench.doctor.show import show
from workbench.images.errors import ImageError
from workbench.machines.provider import Probe

WELL = Probe("smol", True, "smol: microVMs", "a microVM boots here", details={"tried": "now, in 1.0 s"})
NO_KVM = Probe("smol", False, "smol: microVMs", "there is no /dev/kvm", "sudo modprobe kvm_intel")
SPACES = Probe("bubblewrap", True, "bubblewrap: namespaces, not a VM", "as root", limits=("no allowlist",))
NO_BWRAP = Probe("bubblewrap", False, "bubblewrap: namespaces, not a VM", "no bwrap", "pip install it")


@pytest.fixture(autouse=True)
def no_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examining.shutil, "which", lambda name: None)  # type: ignore[attr-defined]

    async def no_builder(*_: object) -> None:
        raise ImageError("it is not installed", "apt-get install it")

    monkeypatch.setattr(examining, "_builders", lambda: {"docker": no_builder, "buildah": no_builder})


def host(monkeypatch: pytest.MonkeyPatch, known: Probe | None, booted: Probe, spaces: Probe) -> None:
    async def boot() -> Probe:
        return booted

    async def bubblewrap() -> Probe:
        return spaces

    monkeypatch.setattr(examining.smol, "remembered", lambda: known)  # type: ignore[attr-defined]
    monkeypatch.setattr(examining.smol, "probe", boot)  # type: ignore[attr-defined]
    monkeypatch.setattr(examining, "_bubblewrap", bubblewrap)


def shown(report: Report) -> str:
    out = Console(file=io.StringIO(), width=100, color_system=None)
    show(out, report)
    assert isinstance(out.file, io.StringIO)
    return "\n".join(line.rstrip() for line in out.file.getvalue().splitlines())


async def test_the_best_that_works_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    host(monkeypatch, WELL, NO_KVM, SPACES)
    report = await examine()
    assert report.chosen == "smol"
    assert [probe.provider for probe in report.providers] == [
        "smol",
        "bubblewrap",
        "harbor:docker",
        "harbor:podman",
    ]
    assert "Machines are made by smol: microVMs." in shown(report)

    host(monkeypatch, None, NO_KVM, SPACES)
    report = await examine()
    assert report.chosen == "bubblewrap"
    text = shown(report)
    assert "Machines are made by bubblewrap: namespaces, not a VM." in text
    assert (
        "smol           ✗ no    there is no /dev/kvm\n                       next: sudo modprobe kvm_intel"
        in text
    )
    assert "bubblewrap     ✓ yes   as root\n                       no allowlist" in text
    assert "harbor:docker  ✗ no    docker is not installed" in text


async def test_a_boot_is_tried_again_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    host(monkeypatch, NO_KVM, WELL, SPACES)
    assert (await examine()).chosen == "bubblewrap"
    assert (await examine(again=True)).chosen == "smol"


def test_where_nothing_works_it_says_so_and_ends_with_3(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    host(monkeypatch, NO_KVM, NO_KVM, NO_BWRAP)
    assert run.doctor() == 3
    said = capsys.readouterr().out
    assert "Nothing here makes machines" in said
    assert "next: sudo modprobe kvm_intel" in said
    assert "next: pip install it" in said
    assert "next: apt-get install it" in said


def test_programs_read_the_same_as_json(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    host(monkeypatch, WELL, WELL, SPACES)
    assert run.doctor(as_json=True) == 0
    said = capsys.readouterr().out
    report = msgspec.json.decode(said, type=Report)
    assert report.chosen == "smol"
    assert report.providers[0] == WELL
    assert json.loads(said)["builders"][1] == {
        "name": "buildah",
        "usable": False,
        "why": "it is not installed",
        "hint": "apt-get install it",
    }
    assert all(place.free_bytes > 0 for place in report.places)
