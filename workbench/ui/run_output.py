"""The output of one run, as lines that grow with it."""

from __future__ import annotations

from itertools import islice

from workbench.events import OutputSource
from workbench.session import Run
from workbench.ui.lines import LiveLines

_AT_ONCE = 128 * 1024
"""Characters taken in one go, so that a key is answered meanwhile."""


class RunOutput:
    """What a run printed from one source, taken from the session as it grows there.

    Attributes:
        seen: Pieces of the run's output looked at so far, of any source.
        complete: Whether no piece is missing. A run of an earlier session has none here at all.
    """

    def __init__(self, run: Run, source: OutputSource) -> None:
        self.run = run
        self.lines = LiveLines()
        self.seen = 0
        self.complete = not run.recalled
        self._source = source

    @property
    def whole(self) -> bool:
        """Whether there are lines, and all that came."""
        return self.complete and len(self.lines) > 0 and not self.lines.dropped

    def take(self) -> bool:
        """Take in what is new; False when there is more than one go of it."""
        run = self.run
        first_kept = run.output_seen - len(run.output)
        if first_kept > self.seen:
            self.seen, self.complete = first_kept, False
        taken = 0
        # Counted from the end: that is where the new ones are, and where a deque is quick.
        new = run.output_seen - self.seen
        for piece in list(islice(reversed(run.output), new))[::-1]:
            self.seen += 1
            if piece.source == self._source:
                self.lines.append(piece.text)
                taken += len(piece.text)
                if taken > _AT_ONCE:
                    return self.seen == run.output_seen
        return True
