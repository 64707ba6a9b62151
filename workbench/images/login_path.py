"""Programs that a login shell does not find, because it forgets the image's PATH."""

from __future__ import annotations

from workbench.images.archive import ImageConfig
from workbench.images.dockerfile import Dockerfile
from workbench.task.problem import Problem

_ROOT = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_USER = "/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games"
"""What Debian's /etc/profile sets; that of other distributions differs in nothing an image adds."""


def login_path_problem(config: ImageConfig, dockerfile: Dockerfile, path: str) -> Problem | None:
    """The finding where a login shell loses directories of the image's PATH.

    Harbor runs each command on smol in a login shell, on docker not.

    Args:
        path: The Dockerfile's, relative to the task.
    """
    user = config.user.partition(":")[0]
    kept = {*_ROOT.split(":"), *(() if user in ("", "0", "root") else _USER.split(":")), ""}
    lost = [directory for directory in config.env.get("PATH", "").split(":") if directory not in kept]
    if not lost or not dockerfile.stages:
        return None
    base, *rest = dockerfile.stages[-1]
    sets = [i for i in rest if i.keyword == "ENV" and any(w.startswith("PATH") for w in i.text.split()[1:])]
    return Problem(
        path=path,
        rule="login-shell-path",
        severity="warning",
        message=f"a login shell, in which smol runs commands, forgets {', '.join(lost)} of the image's PATH",
        hint="link the programs into /usr/local/bin, or call them by their whole path",
        line=(sets[-1] if sets else base).line,
    )
