"""What the options of a command line come to."""

from __future__ import annotations

import subprocess
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from workbench import events as ev
from workbench import options
from workbench.images.find import BUILDERS
from workbench.link import EngineOptions

got: list[EngineOptions] = []


@click.command()
@options.watching_engine
def watching(engine: EngineOptions) -> None:
    got.append(engine)


@click.command()
@options.reading_engine
def reading(engine: EngineOptions) -> None:
    got.append(engine)


def asked(command: click.Command, *args: str) -> EngineOptions:
    command.main(args, standalone_mode=False)
    return got[-1]


def test_what_is_not_said_is_left_to_the_engine() -> None:
    assert asked(watching) == EngineOptions()


def test_every_option_reaches_the_engine() -> None:
    said = asked(
        watching,
        *("--provider", "harbor:docker", "--threshold", "0.5", "-n", "3", "--builder", "podman"),
        *("--confirm", "always", "--on-change", "wait", "--grace", "2.5"),
        *("--keep-states", "7", "--keep-memory", "100"),
    )
    assert said == EngineOptions(
        provider="harbor:docker",
        threshold=0.5,
        concurrency=3,
        builder="podman",
        confirm="always",
        on_change="wait",
        grace=2.5,
        keep_states=7,
        keep_memory=100,
    )
    assert asked(reading, "--threshold", "0.5") == EngineOptions(threshold=0.5)


@pytest.mark.parametrize(
    "words", [("--grace", "inf"), ("--grace", "-1"), ("--confirm", "later"), ("--keep-states", "-1")]
)
def test_what_makes_no_sense_is_refused(words: tuple[str, ...]) -> None:
    assert CliRunner().invoke(watching, words).exit_code == 2


def test_the_builders_are_those_that_are_looked_for() -> None:
    assert options.BUILDERS == BUILDERS


def test_the_engine_takes_every_option(tmp_path: Path) -> None:
    every = EngineOptions(
        provider="bubblewrap",
        threshold=0.5,
        concurrency=3,
        builder="podman",
        confirm="always",
        idle=1.0,
        on_change="wait",
        grace=2.5,
        keep_states=7,
        keep_memory=100,
        state_dir=tmp_path,
    )
    done = subprocess.run(every.argv, input=b"", capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    events = [ev.decode(line) for line in done.stdout.splitlines()]
    assert (type(events[0]), type(events[-1])) == (ev.EngineStarted, ev.EngineStopped)


def test_settings_speak_of_the_engine_and_the_command_line_goes_before_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "settings.toml"
    file.write_text('builder = "podman"\nbuilder_image = "/images/builder.tar"\n')
    monkeypatch.setenv("WORKBENCH_CONFIG", str(file))
    assert asked(watching) == EngineOptions(builder="podman", builder_image="/images/builder.tar")
    assert asked(watching, "--builder", "smol").builder == "smol"
    assert "--builder-image /images/builder.tar" in " ".join(asked(watching).argv)
    file.write_text("keep_states = 3\nkeep_memory = 200\n")
    assert asked(watching) == EngineOptions(keep_states=3, keep_memory=200)
    assert asked(watching, "--keep-states", "9").keep_states == 9
    file.write_text("keep_states = -1\n")
    assert asked(watching) == EngineOptions()
