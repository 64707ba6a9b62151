"""`buildah`, in a store of its own, without a daemon and without root."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import re
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from workbench.images.build_events import OnBuildEvent, StepRecord
from workbench.images.buildah_words import TAR, beside, bud_flags, built_layers
from workbench.images.builder import PULL_TIMEOUT, BuildError, BuildRequest, BuiltLayers
from workbench.images.errors import ImageError
from workbench.images.flat import Sink, pour_from
from workbench.images.process import ask, follow, leash
from workbench.images.progress import Failure, StepReader

_NAMESPACE = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")
"""A build's children end with it, whatever they did to get away, and its mounts go with it."""
_LOST = re.compile(r"copier subprocess: .*broken pipe")
"""What buildah says now and then when the process that it copies by ended before it was asked: the cause, if
there is one, is not in it, and another try tells."""


class Buildah:
    """Builds with `buildah bud`; see `Builder` for what the methods promise."""

    name = "buildah"
    believes_times = False

    def __init__(self, version: str, store: Path, shared_images: str = "") -> None:
        """
        Args:
            version: As `buildah --version` says.
            store: Directory of its layers, containers and temporary files.
            shared_images: Store of the user's own buildah or podman, whose images are read, never changed.
        """
        self.version = version
        self._store = store
        self._storage = (
            *("--root", str(store / "root"), "--runroot", str(store / "run"), "--storage-driver", "overlay"),
            *(("--storage-opt", f"overlay.imagestore={shared_images}") if shared_images else ()),
        )
        (store / "tmp").mkdir(parents=True, exist_ok=True)
        # Shared while this process may build: whoever gets it alone knows that no build runs.
        self._lock = os.open(store / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_SH)
        self._registries = _registries(store)
        self._knows_heredocs: bool | None = None
        conf = f"CONTAINERS_CONF_OVERRIDE={_without_networks(store)}"
        user = () if os.geteuid() == 0 else ("buildah", "unshare")
        self._inside = (*leash(), *user, *_NAMESPACE, "env", conf)

    async def build(self, request: BuildRequest, emit: OnBuildEvent) -> BuiltLayers:
        flags, warnings = bud_flags(request)
        await self._refuse_heredocs(request)
        steps, image, failure = await self._follow(request, flags, emit)
        if failure is not None and _LOST.search(failure.message):
            steps, image, failure = await self._follow(request, flags, emit)
        if failure is not None:
            raise BuildError.of(failure)
        return built_layers(image, await self._inspect(image), steps, warnings)

    async def _follow(
        self, request: BuildRequest, flags: Sequence[str], emit: OnBuildEvent
    ) -> tuple[list[StepRecord], str, Failure | None]:
        """The steps of a build, the image that came of it, and why none did."""
        reader = StepReader(request.dockerfile, emit)
        async with self._temporary() as tmp:
            code = await self._bud(request.context, tmp, flags, reader.line)
            failure = reader.end(failed=code != 0)
            image = "" if failure else (tmp / "iid").read_text().strip()
        return reader.steps, image, failure

    async def _bud(
        self, context: Path, tmp: Path, flags: Sequence[str], on_line: Callable[[str], None]
    ) -> int:
        argv = [*self._inside, "buildah", *self._storage, "--registries-conf", str(self._registries)]
        argv += ["bud", *flags, "--iidfile", str(tmp / "iid")]
        argv += ["--file", str(context / "Dockerfile"), str(context)]
        return await follow(argv, on_line, env={"TMPDIR": str(tmp)})

    async def _refuse_heredocs(self, request: BuildRequest) -> None:
        """Stop where an old buildah would take the lines of a heredoc for instructions, or for nothing."""
        found = next((i for i in request.dockerfile.instructions if i.heredoc), None)
        if found is None:
            return
        if self._knows_heredocs is None:
            async with self._temporary() as tmp:
                (tmp / "Dockerfile").write_text("FROM scratch\nCOPY <<END /probe\nEND\n")
                code = await self._bud(tmp, tmp, ["--isolation", "chroot"], lambda line: None)
                self._knows_heredocs = code == 0
        if not self._knows_heredocs:
            raise BuildError(
                f"buildah {self.version} does not know heredocs",
                "install buildah 1.33 or newer, or docker buildx; or join the commands with `&& \\`",
                line=found.line,
                instruction=found.text,
            )

    async def digest(self, image: str) -> str:
        try:
            return str(json.loads(await self._inspect(image))["FromImageDigest"])
        except ImageError:
            return ""

    async def pull(self, image: str) -> str:
        argv = [*self._inside, "buildah", *self._storage, "--registries-conf", str(self._registries)]
        await ask([*argv, "pull", "--quiet", "--policy", "always", image], timeout=PULL_TIMEOUT)
        return await self.digest(image)

    async def export(self, image: str, sink: Sink) -> None:
        await pour_from(self.beside(image, TAR), sink)

    def beside(self, image: str, command: Sequence[str]) -> Sequence[str]:
        script = beside(("buildah", *self._storage), image)
        return (*self._inside, "sh", "-c", script, "sh", *command)

    async def prune(self) -> None:
        with contextlib.suppress(ImageError):  # refused while a build runs
            await ask([*self._inside, "buildah", *self._storage, "rmi", "--prune"])

    async def sweep(self) -> None:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            await ask([*self._inside, "buildah", *self._storage, "rm", "--all"])
            for left in (self._store / "tmp").iterdir():
                await self._remove(left)
        except BlockingIOError:
            pass  # another workbench builds here
        finally:
            fcntl.flock(self._lock, fcntl.LOCK_SH)

    @asynccontextmanager
    async def _temporary(self) -> AsyncIterator[Path]:
        path = Path(tempfile.mkdtemp(dir=self._store / "tmp"))
        try:
            yield path
        finally:
            await asyncio.shield(self._remove(path))

    async def _remove(self, path: Path) -> None:
        await ask([*self._inside, "rm", "-rf", "--", str(path)])  # files may be of the namespace's users

    async def _inspect(self, image: str) -> str:
        return await ask([*self._inside, "buildah", *self._storage, "inspect", "--type", "image", image])


def _without_networks(store: Path) -> Path:
    """A configuration for a buildah that may lack the program which makes networks; builds here use none."""
    helpers, conf = store / "helpers", store / "containers.conf"
    helpers.mkdir(exist_ok=True)
    if not (helpers / "netavark").is_symlink():
        (helpers / "netavark").symlink_to("/bin/true")
    conf.write_text(f"[engine]\nhelper_binaries_dir = [{json.dumps(str(helpers))}]\n")
    return conf


def _registries(store: Path) -> Path:
    """The registries of this machine; where they leave open what `FROM python` means, it means Docker's."""
    text = ""
    for path in (
        Path("~/.config/containers/registries.conf").expanduser(),
        Path("/etc/containers/registries.conf"),
    ):
        if path.exists():
            text = path.read_text()
            break
    if not re.search(r"^\s*unqualified-search-registries\s*=", text, re.MULTILINE):
        text = f'unqualified-search-registries = ["docker.io"]\n{text}'
    mine = store / "registries.conf"
    mine.write_text(text)
    return mine


async def find_buildah(store: Path) -> Buildah:
    """Buildah, where it is installed and can work as this user.

    Args:
        store: Directory for its layers.

    Raises:
        ImageError: why it cannot be used, and what to install.
    """
    if not shutil.which("buildah"):
        raise ImageError("buildah is not installed", "apt-get install buildah, or dnf install buildah")
    try:
        info = json.loads(await ask(["buildah", "info"]))
        if os.geteuid() != 0:
            ids = await ask(["buildah", "unshare", "cat", "/proc/self/uid_map"])
            if len(ids.splitlines()) < 2:  # images have files of more than one owner
                raise ImageError("this user has no subordinate ids")
    except ImageError as error:
        hint = "an ordinary user needs ranges in /etc/subuid and /etc/subgid, and the package uidmap"
        raise ImageError(f"buildah does not work here: {error}", hint) from None
    version = (await ask(["buildah", "--version"])).split()[2]
    shared = info["store"]["GraphRoot"] if info["store"]["GraphDriverName"] == "overlay" else ""
    return Buildah(version, store, shared)
