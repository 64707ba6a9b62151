"""Where instructions stand, and which images are named."""

from __future__ import annotations

from workbench.images.dockerfile import parse_dockerfile
from workbench.images.oci import host_architecture


def spans(text: str) -> list[tuple[str, int, int]]:
    return [(i.keyword, i.line, i.last_line) for i in parse_dockerfile(text).instructions]


def test_instructions_have_their_lines() -> None:
    text = "# a comment\n\nFROM x\nrun a && \\\n    # inside\n\n    b\n\nCOPY a b\n"
    assert spans(text) == [("FROM", 3, 3), ("RUN", 4, 7), ("COPY", 9, 9)]
    assert parse_dockerfile(text).instructions[1].text == "run a && b"


def test_windows_line_ends_and_a_byte_order_mark_do_not_matter() -> None:
    assert spans("FROM x\r\nRUN a \\\r\n  b\r\nRUN c\r\n") == [("FROM", 1, 1), ("RUN", 2, 3), ("RUN", 4, 4)]


def test_a_heredoc_is_one_instruction() -> None:
    text = "FROM x\nRUN <<EOF\necho a\nFROM y\nEOF\nCOPY <<-'A' <<B /\n\tA-body\n\tA\nb\nB\nRUN z\n"
    assert spans(text) == [("FROM", 1, 1), ("RUN", 2, 5), ("COPY", 6, 10), ("RUN", 11, 11)]
    assert [i.heredoc for i in parse_dockerfile(text).instructions] == [False, True, True, False]


def test_what_only_looks_like_a_heredoc_is_none() -> None:
    text = "FROM x\nRUN cat <<<EOF\nRUN echo $((1<<EOF))\nRUN cat <<NEVER\nLABEL a=<<EOF\n"
    assert [line for _, line, _ in spans(text)] == [1, 2, 3, 4, 5]


def test_the_escape_directive_is_heeded() -> None:
    assert spans("# escape=`\nFROM x\nRUN a `\n  b\nRUN c \\\nRUN d\n") == [
        ("FROM", 2, 2), ("RUN", 3, 4), ("RUN", 5, 5), ("RUN", 6, 6)]  # fmt: skip


def test_a_last_line_may_end_anyhow() -> None:
    assert spans("FROM x\nRUN a \\") == [("FROM", 1, 1), ("RUN", 2, 2)]
    assert spans("FROM x\nRUN a \\\n") == [("FROM", 1, 1), ("RUN", 2, 2)]
    assert spans("") == []


def test_stages_count_from_their_from() -> None:
    dockerfile = parse_dockerfile("ARG V=1\nFROM a AS Build\nRUN x\nFROM b\nCOPY --from=build /x /x\n")
    assert [i.stage for i in dockerfile.instructions] == [-1, 0, 0, 1, 1]
    assert dockerfile.stage_names == ("build", "stage-1")


def test_images_are_those_that_are_no_stages() -> None:
    dockerfile = parse_dockerfile(
        "ARG PY=3.12\nARG TAG\n"
        "FROM --platform=linux/amd64 python:${PY}-slim AS build\n"
        "FROM build\nFROM scratch\nFROM debian:${TAG:-bookworm}\n"
        "COPY --from=build a b\nCOPY --from=0 a b\nCOPY --chown=1 --from=tools:1 a b\n"
        "RUN --mount=type=bind,from=mounted:2,target=/x ls\n"
    )
    assert dockerfile.images() == ("python:3.12-slim", "debian:bookworm", "tools:1", "mounted:2")
    assert dockerfile.images({"PY": "3.13", "TAG": "sid"})[:2] == ("python:3.13-slim", "debian:sid")


def test_arguments_may_be_made_of_others_and_of_the_platform() -> None:
    dockerfile = parse_dockerfile(
        'ARG PY=3.12\nARG BASE="python:${PY}-slim"\nARG SLIM\nARG TARGETARCH\n'
        "FROM $BASE AS one\nFROM debian:12${SLIM:+-slim}\nFROM tools-${TARGETARCH}\n"
    )
    architecture = host_architecture()
    assert dockerfile.images() == ("python:3.12-slim", "debian:12", f"tools-{architecture}")
    given = {"PY": "3.13", "SLIM": "1", "TARGETARCH": "riscv64"}
    assert dockerfile.images(given) == ("python:3.13-slim", "debian:12-slim", "tools-riscv64")


def test_a_stage_named_like_an_image_is_a_stage_only_from_there_on() -> None:
    dockerfile = parse_dockerfile("FROM golang AS golang\nFROM golang\nCOPY --from=golang /a /a\n")
    assert dockerfile.images() == ("golang",)
    assert parse_dockerfile("FROM x\nCOPY --from=tools /a /a\nFROM y AS tools\n").images() == (
        "x",
        "tools",
        "y",
    )
