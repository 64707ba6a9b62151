"""What builders print, read as steps: buildah's and podman's `STEP` lines, and BuildKit's plain progress."""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Sequence

import msgspec

from workbench.images.build_events import OnBuildEvent, StepDone, StepOutput, StepRecord, StepStarted
from workbench.images.dockerfile import Dockerfile, Instruction

TAIL = 40
"""Lines of a failing step's output kept for its message."""


class Failure(msgspec.Struct, frozen=True):
    """Why a build failed."""

    message: str
    line: int | None = None
    instruction: str = ""
    output: str = ""
    """The last lines of what the failing step printed."""


class _Step:
    def __init__(self, number: int, text: str, line: int | None) -> None:
        self.number, self.text, self.line = number, text, line
        self.since = time.monotonic()
        self.cached = False
        self.printed: deque[str] = deque(maxlen=TAIL)


class _Steps:
    """The bookkeeping both readers share."""

    def __init__(self, dockerfile: Dockerfile, emit: OnBuildEvent) -> None:
        self._stages = dockerfile.stages
        self._emit = emit
        self._count = 0
        self.steps: list[StepRecord] = []

    def _start(self, text: str, line: int | None) -> _Step:
        self._count += 1
        self._emit(StepStarted(step=self._count, text=text, line=line))
        return _Step(self._count, text, line)

    def _print(self, step: _Step | None, text: str) -> None:
        if step:
            step.printed.append(text)
        self._emit(StepOutput(step=step.number if step else 0, text=text))

    def _done(self, step: _Step, seconds: float | None = None) -> None:
        seconds = time.monotonic() - step.since if seconds is None else seconds
        self.steps.append(StepRecord(step.text, step.line, seconds, step.cached))
        self._emit(StepDone(step=step.number, seconds=seconds, cached=step.cached))


class StepReader(_Steps):
    """Reads `buildah bud` and `podman build`.

    They name no lines, and mix what RUN prints into their own. A line `STEP i/n: TEXT` is therefore believed
    only when TEXT is an instruction that can come next.
    """

    _STEP = re.compile(r"(?:\[(\d+)/\d+\] )?STEP (\d+)/(\d+): (.*)")
    _CACHED = re.compile(r"--> Using cache [0-9a-f]{12,64}$")
    _LAYER = re.compile(r"--> [0-9a-f]{11,64}$")
    _COMMIT = re.compile(r"COMMIT( \S+)?$")
    _NOISE = re.compile(r"subprocess exited (with status \d+|on \w+)$|time=.*UNHANDLED LOGLEVEL")
    _ERROR = re.compile(r"(?i)error: ")

    def __init__(self, dockerfile: Dockerfile, emit: OnBuildEvent) -> None:
        super().__init__(dockerfile, emit)
        self._at = (0, 0)
        """Stage and step, both from 1 as printed."""
        self._steps = 0
        """How many the stage has."""
        self._step: _Step | None = None
        self._error: list[str] = []
        """What may be the builder's last words, which are no output: from `Error: ` to the end."""

    def line(self, text: str) -> None:
        words = text.rstrip("\r\n")
        found = self._STEP.search(words)
        instruction = self._next(found) if found else None
        if found and instruction:
            self._flush()
            if found.start():  # what RUN printed last had no newline
                self._print(self._step, words[: found.start()])
            self._finish()
            self._step = self._start(instruction.text, instruction.line)
        elif self._ERROR.match(words):
            self._flush()
            self._error = [text]
        elif self._error:
            self._error.append(text)
        elif self._step and not self._step.printed and self._CACHED.match(words):
            self._step.cached = True
        elif self._COMMIT.match(words) and self._at[1] == self._steps:
            self._finish()
        elif not self._LAYER.match(words) and not self._NOISE.match(words):
            self._print(self._step, text)

    def _flush(self) -> None:
        for text in self._error:
            self._print(self._step, text)
        self._error = []

    def _next(self, found: re.Match[str]) -> Instruction | None:
        """The instruction a STEP line means, None when it cannot be one."""
        stage, step, steps = int(found[1] or 1), int(found[2]), int(found[3])
        same_stage = stage == self._at[0] and step > self._at[1]
        if not same_stage and not (stage > self._at[0] and step == 1):
            return None
        if stage > len(self._stages) or step > steps or (step > 2 and steps != self._steps):
            return None
        own = self._stages[stage - 1]
        inherited = steps - len(own)  # ONBUILD instructions of the base come after FROM, which cannot print
        if inherited < 0:
            return None
        if 1 < step <= 1 + inherited:
            instruction = msgspec.structs.replace(own[0], text=found[4])
        else:
            instruction = own[step - 1 - (inherited if step > 1 else 0)]
            said = found[4].split()
            if step == 1 and said[:1] != ["FROM"]:
                return None
            heredoc = instruction.heredoc and " ".join(said).startswith(instruction.text)
            if step > 1 and " ".join(said) != instruction.text and not heredoc:
                return None
        self._at, self._steps = (stage, step), steps
        return instruction

    def _finish(self) -> None:
        if self._step:
            self._done(self._step)
            self._step = None

    def end(self, *, failed: bool) -> Failure | None:
        if not failed:
            self._flush()
            self._finish()
            return None
        said = "".join(self._error)
        message = _buildah_words(said)
        step = self._step
        if step is None:
            at = re.search(r"StartLine:(\d+)", said)
            return Failure(message, int(at[1]) if at else None)
        # What RUN prints can look like the step after it, word for word; the error names the right one.
        named = re.match(r'(?i:error): building at STEP "(.*?)": ', said)
        text = " ".join(named[1].split()) if named else step.text
        meant = [i for i in self._stages[self._at[0] - 1][: self._at[1]] if i.text == text]
        line = meant[-1].line if meant else step.line
        return Failure(message, line, text if meant else step.text, "".join(step.printed))


def _buildah_words(error: str) -> str:
    """The point of buildah's last words, without the step they repeat and the structures they print."""
    text = error.rstrip().rpartition("\n")[2].strip().removeprefix("* ")  # the last is the cause
    text = re.sub(r"^(?i:error): ", "", text)
    text = re.sub(r'^(building at STEP ".*?": |creating build container: )', "", text)
    text = re.sub(r" ?&imagebuilder\..*", "", text).removeprefix("Build error: ")
    status = re.fullmatch(r"(?:while running runtime: )?exit status (\d+)", text)
    if status:
        return f"ended with exit code {status[1]}"
    if "}: " in text:  # errors of copying carry all their options; what went wrong comes last
        text = text.rpartition("}: ")[2]
    return text or "the builder said no word"


class BuildKitReader(_Steps):
    """Reads `--progress=plain` of BuildKit: lines `#N WORDS`, where output has a time before it."""

    _LINE = re.compile(r"#(\d+) (.*)")
    _VERTEX = re.compile(r"\[(?:(\S+) )?(\d+)/\d+\] (.*)")
    _OUTPUT = re.compile(r"\d+\.\d+ ?(.*)")
    _DONE = re.compile(r"DONE (\d+\.\d+)s$")
    _EXIT = re.compile(r"process \".*\" did not complete successfully: exit code: (\d+)")
    _AT = re.compile(r"Dockerfile:(\d+)$")
    _LAYERS = frozenset({"FROM", "RUN", "COPY", "ADD", "WORKDIR"})
    """Instructions that BuildKit counts; the others only change the image's config."""

    def __init__(self, dockerfile: Dockerfile, emit: OnBuildEvent) -> None:
        super().__init__(dockerfile, emit)
        names = dockerfile.stage_names
        self._counted = {
            name: [i for i in stage if i.keyword in self._LAYERS and not self._starts_from(i, names)]
            for name, stage in zip(names, self._stages, strict=True)
        }
        self._only = names[-1] if names else ""
        self._open: dict[str, _Step] = {}
        self._failed: _Step | None = None
        self._failed_line: int | None = None
        self._error = ""

    def line(self, text: str) -> None:
        found = self._LINE.match(words := text.rstrip("\r\n"))
        if not found:
            if words.startswith("ERROR: "):
                self._error = words.removeprefix("ERROR: ").removeprefix("failed to solve: ")
            elif at := self._AT.match(words):
                self._failed_line = int(at[1])
            return
        number, words = found[1], found[2]
        step = self._open.get(number)
        if step is None:
            if vertex := self._VERTEX.match(words):
                self._open[number] = self._start(vertex[3], self._line_of(vertex[1], int(vertex[2])))
        elif output := self._OUTPUT.match(words):
            self._print(step, output[1] + "\n")
        elif words == "CACHED":
            step.cached = True
            self._done(self._open.pop(number), 0)
        elif done := self._DONE.match(words):
            self._done(self._open.pop(number), float(done[1]))
        elif words.startswith("ERROR: "):
            self._failed, self._error = step, words.removeprefix("ERROR: ")

    @staticmethod
    def _starts_from(instruction: Instruction, stages: Sequence[str]) -> bool:
        """Whether it is a FROM that names nothing or an earlier stage, which is no step of its own."""
        words = [word for word in instruction.text.split() if not word.startswith("--")]
        return words[0].upper() == "FROM" and words[1:] != [] and words[1].lower() in ("scratch", *stages)

    def _line_of(self, stage: str | None, nth: int) -> int | None:
        counted = self._counted.get(stage or self._only, [])
        return counted[nth - 1].line if nth <= len(counted) else None

    def end(self, *, failed: bool) -> Failure | None:
        if not failed:
            for number in list(self._open):
                self._done(self._open.pop(number))
            return None
        status = self._EXIT.search(self._error)
        message = f"ended with exit code {status[1]}" if status else self._error or "the builder said no word"
        if self._failed is None:
            return Failure(message, self._failed_line)
        line = self._failed.line if self._failed.line is not None else self._failed_line
        return Failure(message, line, self._failed.text, "".join(self._failed.printed))
