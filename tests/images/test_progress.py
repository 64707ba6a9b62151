"""Builders' output read as steps."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.images.build_events import BuildEvent, StepDone, StepOutput, StepStarted
from workbench.images.dockerfile import parse_dockerfile
from workbench.images.progress import BuildKitReader, Failure, StepReader

DOCKERFILE = """\
# syntax=docker/dockerfile:1
FROM python:3.12-slim

RUN echo one && \\
    # why
    echo two
COPY a.txt /app/
RUN make
"""


class Heard:
    def __init__(self, kind: type[StepReader | BuildKitReader], dockerfile: str = DOCKERFILE) -> None:
        self.events: list[BuildEvent] = []
        self.reader = kind(parse_dockerfile(dockerfile), self.events.append)

    def read(self, text: str, *, failed: bool = False) -> Failure | None:
        for line in text.splitlines(keepends=True):
            self.reader.line(line)
        return self.reader.end(failed=failed)

    @property
    def started(self) -> list[tuple[int, int | None]]:
        return [(event.step, event.line) for event in self.events if isinstance(event, StepStarted)]

    @property
    def cached(self) -> list[tuple[int, bool]]:
        return [(event.step, event.cached) for event in self.events if isinstance(event, StepDone)]

    @property
    def printed(self) -> list[tuple[int, str]]:
        return [(event.step, event.text) for event in self.events if isinstance(event, StepOutput)]


ID = "26bad66a069e457124ade7e4629084687f8ff79baf70684ddce82ba26d505b2f"


def test_buildah_steps_have_lines_and_outputs() -> None:
    heard = Heard(StepReader)
    heard.read(f"""\
STEP 1/4: FROM python:3.12-slim
STEP 2/4: RUN echo one &&     echo two
--> Using cache {ID}
STEP 3/4: COPY a.txt /app/
--> {ID}
STEP 4/4: RUN make
made
COMMIT localhost/x
--> {ID}
Successfully tagged localhost/x:latest
""")
    assert heard.started == [(1, 2), (2, 4), (3, 7), (4, 8)]
    assert heard.cached == [(1, False), (2, True), (3, False), (4, False)]
    assert heard.printed == [(4, "made\n"), (0, "Successfully tagged localhost/x:latest\n")]


def test_a_step_that_a_run_only_prints_is_not_believed() -> None:
    heard = Heard(StepReader)
    failure = heard.read(
        """\
STEP 1/4: FROM python:3.12-slim
STEP 2/4: RUN echo one &&     echo two
STEP 3/4: RUN something else
STEP 1/4: FROM python:3.12-slim
[2/3] STEP 1/1: FROM x
Error: building at STEP "RUN echo one &&     echo two": exit status 3
""",
        failed=True,
    )
    assert heard.started == [(1, 2), (2, 4)]
    assert failure is not None
    assert (failure.line, failure.message) == (4, "ended with exit code 3")
    assert failure.instruction == "RUN echo one && echo two"
    assert failure.output.count("\n") == 3


@pytest.mark.parametrize(
    "spoof", ["STEP 9/4: RUN make", "STEP 3/99: RUN x", "STEP 3/3: RUN make", "STEP 0/0: x"]
)
def test_a_step_with_other_numbers_is_not_believed(spoof: str) -> None:
    heard = Heard(StepReader)
    heard.read(f"STEP 1/4: FROM python:3.12-slim\nSTEP 2/4: RUN echo one &&     echo two\n{spoof}\n")
    assert heard.started == [(1, 2), (2, 4)]


@given(
    st.lists(
        st.one_of(
            st.text(),
            st.from_regex(r"(\[\d/\d\] )?STEP \d{1,3}/\d{1,3}: (FROM|RUN make|COPY a.txt /app/).*"),
            st.from_regex(
                r"(--> Using cache [0-9a-f]{12}|COMMIT x|Error: .*|#\d (CACHED|DONE 0.1s|\[\d/4\] RUN x))"
            ),
        )
    ),
    st.booleans(),
)
@pytest.mark.parametrize("kind", [StepReader, BuildKitReader])
def test_whatever_is_printed_the_reader_stands(
    kind: type[StepReader | BuildKitReader], lines: list[str], failed: bool
) -> None:
    heard = Heard(kind)
    for line in lines:
        heard.reader.line(line + "\n")
    failure = heard.reader.end(failed=failed)
    assert (failure is not None) is failed
    steps = [event.step for event in heard.events if isinstance(event, StepStarted)]
    assert steps == list(range(1, len(steps) + 1))


def test_a_run_that_prints_the_very_next_step_and_fails_is_still_the_one_to_blame() -> None:
    failure = Heard(StepReader).read(
        """\
STEP 1/4: FROM python:3.12-slim
STEP 2/4: RUN echo one &&     echo two
STEP 3/4: COPY a.txt /app/
Error: building at STEP "RUN echo one &&     echo two": exit status 1
""",
        failed=True,
    )
    assert failure is not None
    assert (failure.line, failure.instruction) == (4, "RUN echo one && echo two")


def test_a_step_after_output_without_newline_is_found() -> None:
    heard = Heard(StepReader)
    heard.read("""\
STEP 1/4: FROM python:3.12-slim
STEP 2/4: RUN echo one &&     echo two
no newlineSTEP 3/4: COPY a.txt /app/
""")
    assert heard.started == [(1, 2), (2, 4), (3, 7)]
    assert heard.printed == [(2, "no newline")]


def test_stages_that_are_skipped_keep_their_numbers() -> None:
    dockerfile = "FROM scratch AS a\nCOPY x /x\nFROM a AS b\nRUN b\nFROM scratch\nCOPY --from=a /x /x\n"
    heard = Heard(StepReader, dockerfile)
    heard.read("""\
[1/3] STEP 1/2: FROM scratch AS a
[1/3] STEP 2/2: COPY x /x
[3/3] STEP 1/2: FROM scratch
[3/3] STEP 2/2: COPY --from=a /x /x
[3/3] COMMIT x
""")
    assert heard.started == [(1, 1), (2, 2), (3, 5), (4, 6)]


def test_instructions_a_base_brings_along_belong_to_its_from() -> None:
    heard = Heard(StepReader)
    heard.read("""\
STEP 1/4: FROM python:3.12-slim
STEP 2/6: WORKDIR /srv
STEP 3/6: COPY . /srv
STEP 4/6: RUN echo one &&     echo two
STEP 5/6: COPY a.txt /app/
STEP 6/6: RUN make
""")
    assert heard.started == [(1, 2), (2, 2), (3, 2), (4, 4), (5, 7), (6, 8)]


def test_what_buildah_says_is_cut_to_the_point() -> None:
    def message(last: str) -> str:
        failure = Heard(StepReader).read(f"STEP 1/4: FROM python:3.12-slim\n{last}\n", failed=True)
        assert failure is not None
        return failure.message

    unknown = (
        'Error: building at STEP "FOO ": Build error: Unknown instruction: "FOO" &imagebuilder.Step{Env:[]}'
    )
    assert message(unknown) == 'Unknown instruction: "FOO"'
    assert message("Error: creating build container: no such image") == "no such image"
    assert message("") == "the builder said no word"
    options = "copier.request{Request:GET, Get:Options{A:[]string{}}}"
    several = (
        f'Error: building at STEP "x": 2 errors occurred:\n\t* a: {options}: b\n\t* c: {options}: full\n\n'
    )
    assert message(several) == "full"


def test_an_error_word_in_the_output_is_output() -> None:
    heard = Heard(StepReader)
    heard.read("STEP 1/4: FROM python:3.12-slim\nError: not really\ngoing on\n")
    assert heard.printed == [(1, "Error: not really\n"), (1, "going on\n")]


BUILDKIT = """\
#0 building with "default" instance using docker driver

#1 [internal] load build definition from Dockerfile
#1 transferring dockerfile: 141B done
#1 DONE 0.0s

#4 [1/4] FROM docker.io/library/python:3.12-slim@sha256:aa
#4 CACHED

#5 [2/4] RUN echo one && echo two
#5 0.123 one
#5 0.125 #6 DONE 1.0s
#5 DONE 0.3s

#6 [3/4] COPY a.txt /app/
#6 DONE 0.1s

#7 [4/4] RUN make
#7 0.100 make: *** No targets.
"""


def test_buildkit_steps_have_lines_and_outputs() -> None:
    heard = Heard(BuildKitReader)
    heard.read(BUILDKIT + "#7 DONE 0.2s\n\n#8 exporting to image\n#8 DONE 0.0s\n")
    assert heard.started == [(1, 2), (2, 4), (3, 7), (4, 8)]
    assert heard.cached == [(1, True), (2, False), (3, False), (4, False)]
    assert heard.printed == [(2, "one\n"), (2, "#6 DONE 1.0s\n"), (4, "make: *** No targets.\n")]
    assert [step.seconds for step in heard.reader.steps] == [0, 0.3, 0.1, 0.2]


def test_buildkits_failing_step_has_its_line() -> None:
    failure = Heard(BuildKitReader).read(
        BUILDKIT
        + """\
#7 ERROR: process "/bin/sh -c make" did not complete successfully: exit code: 2
------
 > [4/4] RUN make:
0.100 make: *** No targets.
------
Dockerfile:8
--------------------
   8 | >>> RUN make
--------------------
ERROR: failed to solve: process "/bin/sh -c make" did not complete successfully: exit code: 2
""",
        failed=True,
    )
    assert failure == Failure("ended with exit code 2", 8, "RUN make", "make: *** No targets.\n")


def test_buildkits_syntax_errors_have_their_line() -> None:
    failure = Heard(BuildKitReader).read(
        """\
#1 [internal] load build definition from Dockerfile
#1 DONE 0.0s
Dockerfile:3
--------------------
   3 | >>> FOO bar
--------------------
ERROR: failed to solve: dockerfile parse error on line 3: unknown instruction: FOO
""",
        failed=True,
    )
    assert failure == Failure("dockerfile parse error on line 3: unknown instruction: FOO", 3)


def test_buildkit_steps_of_named_stages_are_told_apart() -> None:
    heard = Heard(BuildKitReader, "FROM a AS Build\nENV X=1\nRUN one\nFROM b\nLABEL x=y\nRUN two\n")
    heard.read("#5 [build 2/2] RUN one\n#6 [stage-1 2/2] RUN two\n#5 DONE 0.1s\n#6 DONE 0.2s\n")
    assert heard.started == [(1, 3), (2, 6)]


def test_buildkit_counts_no_from_that_names_nothing_or_a_stage() -> None:
    heard = Heard(BuildKitReader, "FROM scratch AS a\nCOPY x /x\nFROM a\nRUN two\n")
    heard.read("#5 [a 1/1] COPY x /x\n#5 CACHED\n#6 [stage-1 1/1] RUN two\n")
    assert heard.started == [(1, 2), (2, 4)]
