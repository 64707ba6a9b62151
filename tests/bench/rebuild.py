"""From a save to a machine that has it, beside doing the same by hand with buildah and bwrap.

A one-file edit in a context whose image has some thousand files and a slow step before the edited file.
Each round, in alternation: the workbench's build and a machine on it; `buildah bud` and a bwrap on its mount;
the same without layers; and, for microVMs, the workbench's archive beside one that `buildah push` writes.
Needs buildah and busybox-static.

    uv run python tests/bench/rebuild.py [ROUNDS]
"""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from workbench.images.find import find_builder
from workbench.images.keeper import ImageKeeper
from workbench.images.store import ImageStore
from workbench.machines.bubblewrap.programs import find_programs
from workbench.machines.bubblewrap.session import BubblewrapSession

LIMIT = 1.3
ROUNDS = 5
DOCKERFILE = """\
FROM scratch
COPY busybox /bin/sh
COPY library /usr/lib/library
RUN tar -c /usr/lib/library | gzip -1 > /library.tar.gz
COPY edited.txt /app/
RUN cat /app/edited.txt > /app/copy.txt
"""


class Bench:
    """The context, the workbench's rooms, and a store for buildah by hand."""

    def __init__(self, scratch: Path) -> None:
        self.context = scratch / "environment"
        self.context.mkdir()
        self.edited = self.context / "edited.txt"
        self.edited.write_text("as it was")
        shutil.copy("/bin/busybox", self.context)
        library = sysconfig.get_path("stdlib")
        leave = shutil.ignore_patterns("site-packages", "__pycache__", "test")
        shutil.copytree(library, self.context / "library", symlinks=True, ignore=leave)
        (self.context / "Dockerfile").write_text(DOCKERFILE)
        self.rounds = 0
        self._scratch = scratch
        self._inside = [] if os.geteuid() == 0 else ["buildah", "unshare"]
        self._buildah = ["buildah", "--root", f"{scratch}/root", "--runroot", f"{scratch}/run"]
        self._buildah += ["--storage-driver", "overlay"]

    async def open(self, session: BubblewrapSession, images: Path) -> None:
        self._session = session
        trees = ImageStore(images, prefix=session.as_owner, trees=True)
        self._for_namespaces = ImageKeeper(self.context, trees, await find_builder(images, "buildah"))
        plain = self._scratch / "plain"
        plain.mkdir()
        self._for_vms = ImageKeeper(self.context, ImageStore(plain), await find_builder(plain, "buildah"))

    def save(self) -> str:
        self.rounds += 1
        text = f"edit {self.rounds:06}"
        self.edited.write_text(text)
        return text

    async def workbench(self) -> float:
        """Seconds from the save to the first answer of a machine that has it."""
        wanted, start = self.save(), time.perf_counter()
        image = await self._for_namespaces.ensure()
        base = await self._session.image(str(image.archive))
        machine = await self._session.create(f"m{self.rounds}", base)
        found = await machine.exec("cat /app/copy.txt")
        seconds = time.perf_counter() - start
        await machine.delete()
        assert found.stdout.decode() == wanted, found
        return seconds

    async def workbench_archive(self) -> float:
        """Seconds from the save to an archive that has it."""
        self.save()
        start = time.perf_counter()
        image = await self._for_vms.ensure()
        seconds = time.perf_counter() - start
        assert image.archive.exists()
        return seconds

    def by_hand(self, *flags: str) -> float:
        buildah, bwrap = shlex.join(self._buildah), find_programs().bwrap
        mounts = "--overlay-src $m --tmp-overlay / --proc /proc --dev /dev"
        return self._timed(
            f"{self._bud(*flags)} && c=$({buildah} from bench) && m=$({buildah} mount $c)"
            f" && {bwrap} {mounts} /bin/sh -c 'cat /app/copy.txt'"
            f" && {buildah} rm $c >/dev/null"
        )

    def by_hand_archive(self) -> float:
        archive = f"{self._scratch}/by-hand-{self.rounds}.tar"
        push = shlex.join([*self._buildah, "push", "--quiet", "bench", f"docker-archive:{archive}"])
        seconds = self._timed(f"{self._bud()} && {push} >/dev/null && cat {self.edited}")
        os.unlink(archive)
        return seconds

    def _bud(self, *flags: str) -> str:
        bud = ["bud", "--isolation", "chroot", "--layers", "--format", "docker", *flags, "--tag", "bench"]
        return shlex.join([*self._buildah, *bud, str(self.context)]) + " >/dev/null 2>&1"

    def _timed(self, script: str) -> float:
        wanted, start = self.save(), time.perf_counter()
        done = subprocess.run(
            [*self._inside, "sh", "-c", script], capture_output=True, text=True, check=False
        )
        seconds = time.perf_counter() - start
        assert done.stdout == wanted, done
        return seconds


async def main(rounds: int) -> bool:
    with tempfile.TemporaryDirectory(prefix="rebuild-", ignore_cleanup_errors=True) as scratch:
        images = Path(scratch) / "images"
        images.mkdir()
        session = BubblewrapSession(Path(scratch) / "machines", images)
        try:
            bench = Bench(Path(scratch))
            await bench.open(session, images)
            measured = [await one_round(bench) for _ in range(rounds + 1)][1:]
        finally:
            await session.close()
            remove = [] if os.geteuid() == 0 else ["buildah", "unshare"]
            subprocess.run([*remove, "rm", "-rf", scratch], check=False)
    machine, by_hand, anew, archive, pushed = zip(*measured, strict=True)
    ratios = {
        "save to machine, beside bud + mount + bwrap": (machine, by_hand),
        "the same, beside bud --no-cache + mount + bwrap": (machine, anew),
        "save to archive, beside bud + push": (archive, pushed),
    }
    table = Table("", "workbench", "by hand", "ratio", box=None)
    for name, (ours, theirs) in ratios.items():
        mine, its = statistics.median(ours), statistics.median(theirs)
        table.add_row(name, f"{mine:.2f} s", f"{its:.2f} s", f"{ratio(ours, theirs):.2f}")
    Console().print(table)
    print(f"medians of {rounds} rounds in alternation, after one to warm up")
    worst = max(ratio(machine, by_hand), ratio(archive, pushed))
    print(f"bench rebuild: {worst:.2f} (required: <= {LIMIT})")
    return worst <= LIMIT


async def one_round(bench: Bench) -> tuple[float, float, float, float, float]:
    return (
        await bench.workbench(),
        await asyncio.to_thread(bench.by_hand),
        await asyncio.to_thread(bench.by_hand, "--no-cache"),
        await bench.workbench_archive(),
        await asyncio.to_thread(bench.by_hand_archive),
    )


def ratio(ours: tuple[float, ...], theirs: tuple[float, ...]) -> float:
    """The median of the rounds' ratios."""
    return statistics.median(mine / its for mine, its in zip(ours, theirs, strict=True))


if __name__ == "__main__":
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    sys.exit(0 if asyncio.run(main(wanted)) else 1)
