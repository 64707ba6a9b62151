"""A task with a Dockerfile, by an engine that builds it in a microVM and proves it in others.

`MICROVM_BUILDER` names an archive made by `tests/microvm/builder_image.sh`; without, nothing is built.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path

import pytest

from tests.engine.conftest import Engine, outcome
from tests.engine.test_images import FILES, PLACE, built, write_greeting
from tests.microvm.conftest import boot
from workbench import events as ev
from workbench import wishes
from workbench.images.build_events import BuildFailed, BuildStarted, StepDone, StepOutput
from workbench.link import EngineLink, EngineOptions
from workbench.machines.machine import MachineError
from workbench.machines.smol import sdk
from workbench.machines.smol.purge import forget_kept, session_of
from workbench.machines.smol.session import SmolSession

BUILDER = os.environ.get("MICROVM_BUILDER", "")
CONFIG = (
    FILES["task.toml"]
    .replace("_sec = 30.0", "_sec = 300.0")
    .replace("build_timeout_sec = 60.0", "build_timeout_sec = 900.0")
    + 'cpus = 1\nmemory_mb = 512\nnetwork_mode = "no-network"\n'
)
DOCKERFILE = """\
FROM scratch
COPY busybox /bin/busybox
RUN ["/bin/busybox", "--install", "-s", "/bin"]
RUN mkdir -p /etc /gone && echo root:x:0:0:root:/:/bin/sh > /etc/passwd && touch /gone/1
RUN rm /gone/1 && rmdir /gone
ENTRYPOINT ["/bin/sh", "-c", "echo entered > /entered; exec \\"$@\\"", "entry"]
CMD ["/bin/sh", "-c", "touch /commanded; exec sleep infinity"]
WORKDIR /app
COPY greeting /app/greeting
RUN echo setting up && cat greeting
"""
# Of what the image says, its entrypoint ran and its command did not: as in Harbor's Docker environment.
SOLVE = "#!/bin/sh\ntest -e /entered && test ! -e /commanded && test ! -e /gone && cp greeting out\n"
PATIENCE = 900.0


@pytest.fixture
def greeting(tmp_path: Path, rootfs: Path) -> Path:
    files = {
        "task.toml": CONFIG,
        "solution/solve.sh": SOLVE,
        PLACE: DOCKERFILE,
        # What the store has kept of earlier tests is not built again.
        "environment/greeting": f"hello {secrets.token_hex(8)}\n",
    }
    return write_greeting(tmp_path / "greeting", rootfs / "usr/bin/busybox", FILES | files)


@pytest.mark.skipif(not BUILDER, reason="MICROVM_BUILDER names no image with buildah")
@pytest.mark.timeout(1800)
async def test_a_task_whose_dockerfile_is_built_in_a_microvm_holds_and_the_next_engine_finds_its_layers(
    greeting: Path, tmp_path: Path, session: SmolSession
) -> None:
    options = EngineOptions(
        provider="smol",
        concurrency=1,
        confirm="never",
        builder="smol",
        builder_image=BUILDER,
        state_dir=tmp_path / "state",
    )

    engines: list[Engine] = []

    async def prove() -> None:
        async with EngineLink(options) as link:
            engine = Engine(link, PATIENCE)
            engines.append(engine)
            await link.send(wishes.OpenTask(task=str(greeting), watch=False))
            view = engine.session.task(str(greeting))
            await engine.until(lambda: view.settled or engine.said(ev.EngineFailed))
            failed = [event.message for event in engine.said(ev.EngineFailed)]
            failed += [build.message for build in built(engine, BuildFailed)]
            failed += [event.outcome.reason for event in engine.said(ev.RunEnded) if event.outcome.exception]
            if failed:
                raise MachineError(" ".join(failed))
            assert view.verdict is not None
            assert (view.verdict.kind, view.verdict.held, view.verdict.total) == ("holds", 2, 2)
            assert outcome(view.cases["oracle"]).reward == 1.0
            assert outcome(view.cases["nop"]).reward == 0.0

    await boot(prove)
    # Where an engine only built, the one after it only ran.
    begun = [build for engine in engines for build in built(engine, BuildStarted)]
    assert {build.builder for build in begun} == {f"buildah in a microVM {BUILDER}"}
    printed = [build.text for engine in engines for build in built(engine, StepOutput)]
    assert "setting up\n" in printed

    engines.clear()
    (greeting / "environment/greeting").write_text(f"hello again {secrets.token_hex(8)}\n")
    await boot(prove)
    steps = [build.cached for engine in engines for build in built(engine, StepDone)]
    assert steps[-7:] == [True] * 5 + [False] * 2
    left = {machine.name for machine in await sdk.in_thread(sdk.machines) if session_of(machine.name)}
    assert left == set(session.names())
    assert len(await sdk.in_thread(forget_kept)) == 1
