"""What is asked for: the requests that flow from a face to the engine.

One JSON object a line, tagged by `wish`. The engine answers with events, never with replies.
"""

from __future__ import annotations

import msgspec

from workbench.cases.case import AgentSpec, Trace


class _Wish(msgspec.Struct, frozen=True, kw_only=True, tag_field="wish", omit_defaults=True):
    pass


class OpenTask(_Wish, frozen=True, kw_only=True, tag="open-task"):
    """Read a task and find its cases."""

    task: str
    """Absolute directory."""
    watch: bool = True
    """Replay what saves affect."""
    replay: bool = True
    """Replay every case at once."""
    cached: bool = False
    """Where a receipt speaks of the files as they are, take it and run nothing."""
    only: tuple[str, ...] = ()
    """Names of the cases to open it with; empty for all."""
    agents: tuple[AgentSpec, ...] = ()
    """Agents to try it on besides; they run again when asked to, and never because of a save."""


class Replay(_Wish, frozen=True, kw_only=True, tag="replay"):
    """Run cases as whole trials."""

    task: str
    cases: tuple[str, ...] = ()
    """Names; empty for all."""


class Repeat(_Wish, frozen=True, kw_only=True, tag="repeat"):
    """Run one case several times as whole trials, beside what runs already."""

    task: str
    case: str
    times: int


class LookAt(_Wish, frozen=True, kw_only=True, tag="look-at"):
    """The face shows this case: its runs go before those of others."""

    task: str
    case: str


class TellReceipt(_Wish, frozen=True, kw_only=True, tag="tell-receipt"):
    """Tell the proof of a task as its receipts have it, running nothing."""

    task: str


class TellEarlierRuns(_Wish, frozen=True, kw_only=True, tag="tell-earlier-runs"):
    """Tell the runs that are kept, of this task and of others, to compare with."""

    task: str


class OpenShell(_Wish, frozen=True, kw_only=True, tag="open-shell"):
    """Make a machine for a shell."""

    task: str
    shell: str
    """A name of the face's own choice, unique among its shells."""
    on: str = ""
    """A case, to stand on what its newest whole run left; empty for the image."""


class CloseShell(_Wish, frozen=True, kw_only=True, tag="close-shell"):
    """The shell is gone; delete its machine."""

    task: str
    shell: str


class TryHere(_Wish, frozen=True, kw_only=True, tag="try-here"):
    """Run the task's verifier on a branch of a shell's machine as it stands now."""

    task: str
    shell: str


class BringIn(_Wish, frozen=True, kw_only=True, tag="bring-in"):
    """Copy the task's tests and solution into a shell's machine, where an agent would not see them."""

    task: str
    shell: str


class Draft(_Wish, frozen=True, kw_only=True, tag="draft"):
    """Write what a shell typed as a script of the task's, for the author to edit."""

    task: str
    shell: str
    name: str = ""
    """A new negative's name; empty for the solution."""


class AskRegistries(_Wish, frozen=True, kw_only=True, tag="ask-registries"):
    """Ask what the names of the task's images stand for now in their registries."""

    task: str
    fetch: bool = False
    """Fetch those that moved, too, and build on them."""


class Cancel(_Wish, frozen=True, kw_only=True, tag="cancel"):
    """End a run, or all runs of a task, waiting ones included."""

    task: str
    run: str = ""
    """Empty for all."""


class CancelBuild(_Wish, frozen=True, kw_only=True, tag="cancel-build"):
    """End the build that runs, and nothing else; the image before goes on serving."""

    task: str


class SetWatching(_Wish, frozen=True, kw_only=True, tag="set-watching"):
    """Pause or resume watching; what changed meanwhile is replayed on resuming."""

    task: str
    watching: bool


class SetTracing(_Wish, frozen=True, kw_only=True, tag="set-tracing"):
    """Tell the commands of scripts apart, from the next run on, as a trajectory has an agent's."""

    task: str
    trace: Trace


class Stop(_Wish, frozen=True, kw_only=True, tag="stop"):
    """Delete every machine and end. Closing the engine's standard input means the same."""


type Wish = (
    OpenTask
    | Replay
    | Repeat
    | LookAt
    | TellReceipt
    | TellEarlierRuns
    | OpenShell
    | CloseShell
    | TryHere
    | BringIn
    | Draft
    | AskRegistries
    | Cancel
    | CancelBuild
    | SetWatching
    | SetTracing
    | Stop
)

UNASKED = (LookAt, TellReceipt, TellEarlierRuns, CloseShell)
"""What faces wish for by themselves: nobody has to be told where nothing comes of it."""

_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[Wish] = msgspec.json.Decoder(Wish)


def encode(wish: Wish) -> bytes:
    """The wish as one line of JSON, newline included."""
    return _encoder.encode(wish) + b"\n"


def decode(line: bytes | str) -> Wish:
    """The wish in one line of JSON.

    Raises:
        msgspec.DecodeError: the line is not a wish.
    """
    return _decoder.decode(line)
