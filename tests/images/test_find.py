"""Which builder is chosen, and what is said where there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.images.engines import Podman
from workbench.images.errors import ImageError
from workbench.images.find import BUILDERS, NoBuilderError, find_builder

PROGRAMS = {
    "docker": """
case "$1 $2" in
"version --format") echo 26.1.5 ;;
"buildx version") echo 'github.com/docker/buildx v0.13.1 788433953af1' ;;
esac
""",
    "podman": """
case "$1" in
info) echo '{}' ;;
--version) echo 'podman version 5.4.2' ;;
esac
""",
}


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only directory where programs are."""
    path = tmp_path / "bin"
    path.mkdir()
    monkeypatch.setenv("PATH", str(path))
    return path


def install(programs: Path, name: str, script: str = "") -> None:
    program = programs / name
    program.write_text("#!/bin/sh\n" + (script or PROGRAMS[name]))
    program.chmod(0o755)


async def test_the_first_that_works_is_chosen(programs: Path, tmp_path: Path) -> None:
    install(programs, "podman")
    podman = await find_builder(tmp_path)
    assert (podman.name, podman.version, podman.believes_times) == ("podman", "5.4.2", False)
    install(programs, "docker")
    docker = await find_builder(tmp_path)
    assert (docker.name, docker.version, docker.believes_times) == ("docker buildx", "0.13.1", True)
    assert (await find_builder(tmp_path, "podman")).name == "podman"


async def test_one_that_does_not_work_is_passed_over_with_its_reason(programs: Path, tmp_path: Path) -> None:
    install(programs, "docker", "echo 'Cannot connect to the Docker daemon' >&2; exit 1")
    install(programs, "podman")
    assert (await find_builder(tmp_path)).name == "podman"
    with pytest.raises(NoBuilderError, match="daemon does not answer: Cannot connect") as caught:
        await find_builder(tmp_path, "docker")
    assert caught.value.hint == "start it: systemctl start docker"


async def test_without_buildx_docker_is_none(programs: Path, tmp_path: Path) -> None:
    install(programs, "docker", '[ "$1" = version ] || exit 1')
    with pytest.raises(NoBuilderError, match="docker has no buildx"):
        await find_builder(tmp_path, "docker")


async def test_where_there_is_none_why_and_what_to_install_is_said(programs: Path, tmp_path: Path) -> None:
    with pytest.raises(NoBuilderError) as caught:
        await find_builder(tmp_path)
    assert tuple(caught.value.reasons) == BUILDERS
    *programs_, in_microvm = caught.value.reasons.values()
    assert all("not installed" in reason for reason in programs_)
    assert in_microvm == "no microVM builds here"
    assert "apt-get install buildah" in caught.value.hint


async def test_a_builder_there_is_not_has_its_like_named(tmp_path: Path) -> None:
    with pytest.raises(ImageError, match="no builder 'kaniko'") as caught:
        await find_builder(tmp_path, "kaniko")
    assert caught.value.hint == "it is one of docker, podman, buildah, container, smol"


class InMachine(Podman):
    name = "buildah in a microVM"


async def test_where_no_program_builds_but_microvms_boot_a_microvm_does(
    programs: Path, tmp_path: Path
) -> None:
    guest = InMachine("builder.tar")
    assert await find_builder(tmp_path, guest=guest) is guest
    assert await find_builder(tmp_path, "smol", guest=guest) is guest
    install(programs, "podman")
    assert (await find_builder(tmp_path, guest=guest)).name == "podman"


async def test_a_microvm_that_cannot_build_is_said_with_the_setting_that_it_takes(tmp_path: Path) -> None:
    with pytest.raises(NoBuilderError, match="no microVM builds here") as caught:
        await find_builder(tmp_path, "smol")
    assert "set builder_image in settings.toml" in caught.value.hint
