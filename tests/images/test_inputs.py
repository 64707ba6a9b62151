"""Keys, and why an image is stale."""

from __future__ import annotations

import msgspec
import pytest

from workbench.images.inputs import Inputs, changes

BEFORE = Inputs(
    builder="buildah 1.28.2",
    platform="linux/amd64",
    files={"Dockerfile": "file 0644 aa", "app.py": "file 0644 bb", "data": "directory 0755"},
    bases={"python:3.12-slim": "sha256:1111111111111111"},
    args={"V": "1"},
)


def changed(**fields: object) -> Inputs:
    return msgspec.structs.replace(BEFORE, **fields)


def test_the_same_inputs_have_the_same_key_in_any_order() -> None:
    files = dict(reversed(BEFORE.files.items()))
    assert changed(files=files).key == BEFORE.key
    assert changes(BEFORE, changed(files=files)) == ""


@pytest.mark.parametrize(
    ("now", "why"),
    [
        (changed(files={**BEFORE.files, "app.py": "file 0755 bb"}), "environment/app.py changed"),
        (changed(files={**BEFORE.files, "new": "link x"}), "environment/new is new"),
        (
            changed(files={"Dockerfile": "file 0644 XX", "data": "directory 0755"}),
            "environment/Dockerfile changed, environment/app.py is gone",
        ),
        (
            changed(bases={"python:3.12-slim": "sha256:2222222222222222"}),
            "python:3.12-slim is now 222222222222",
        ),
        (changed(args={"V": "2"}), "build argument V changed"),
        (changed(builder="docker buildx 0.13"), "docker buildx 0.13 builds now, it was buildah 1.28.2"),
        (changed(platform="linux/arm64"), "the platform is now linux/arm64"),
        (changed(schema=99), "the workbench builds images differently now"),
        (
            changed(files={**BEFORE.files, **{f"f{n}": "link x" for n in range(9)}}),
            "environment/f0 is new, environment/f1 is new, environment/f2 is new and 6 more",
        ),
    ],
)
def test_every_change_has_another_key_and_a_reason(now: Inputs, why: str) -> None:
    assert now.key != BEFORE.key
    assert changes(BEFORE, now, "environment") == why


def test_a_base_that_was_fetched_meanwhile_has_not_changed() -> None:
    unknown = changed(bases={"python:3.12-slim": ""})
    assert "python" not in changes(BEFORE, unknown)
