"""What a login shell forgets of an image's PATH."""

from __future__ import annotations

import pytest

from workbench.images.archive import ImageConfig
from workbench.images.dockerfile import parse_dockerfile
from workbench.images.login_path import login_path_problem

DEBIAN = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
DOCKERFILE = parse_dockerfile(
    "FROM x AS a\nENV PATH=/a:$PATH\nFROM x\nENV A=1\nENV A=2 PATH=/opt/x/bin:$PATH\n"
)


@pytest.mark.parametrize(
    ("path", "user"), [(DEBIAN, ""), (DEBIAN, "1000"), ("", ""), ("/bin:/usr/games", "me")]
)
def test_what_a_login_shell_has_itself_is_no_finding(path: str, user: str) -> None:
    assert login_path_problem(ImageConfig(env={"PATH": path}, user=user), DOCKERFILE, "x") is None


def test_what_it_forgets_is_named_with_the_line_that_adds_it() -> None:
    config = ImageConfig(env={"PATH": f"/opt/x/bin:{DEBIAN}:/opt/y"})
    problem = login_path_problem(config, DOCKERFILE, "environment/Dockerfile")
    assert problem is not None
    assert problem.where == "environment/Dockerfile:5"
    assert "forgets /opt/x/bin, /opt/y of" in problem.message


def test_what_the_base_adds_is_found_at_from() -> None:
    problem = login_path_problem(
        ImageConfig(env={"PATH": f"/go/bin:{DEBIAN}"}), parse_dockerfile("\nFROM golang\nRUN go\n"), "d"
    )
    assert problem is not None
    assert problem.line == 2
