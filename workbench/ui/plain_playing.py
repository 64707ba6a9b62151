"""A recording as lines of text: what an engine told once, as time goes by."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from workbench.recording.player import Player
from workbench.recording.recording import Recording
from workbench.session import CaseView
from workbench.ui import words
from workbench.ui.plain import READING, PlainFace
from workbench.ui.typed import typed


class PlayedFace(PlainFace):
    """Says what a recording tells, and answers what can be read of it so far."""

    HELP = f"{READING}, q quits"

    def __init__(self, player: Player, task: Path, say: Callable[[str], None]) -> None:
        """
        Args:
            player: One that ends with its recording.
            say: Takes a line.
        """
        super().__init__(player, task, say, clock=player.clock)
        self._player = player

    async def play(self, asked: AsyncIterator[str]) -> None:
        """Say what happens until the recording ends, or the user leaves.

        Args:
            asked: The lines that the user types. The recording is played on when they end.
        """
        self._greet("a recording")
        if others := words.others_recorded(self._player.recording.others(self._task)):
            self._say(f"{others}; --task NAME plays one.")
        playing, answering = asyncio.create_task(self._play()), asyncio.create_task(self._hear(asked))
        try:
            await asyncio.wait((playing, answering), return_when=asyncio.FIRST_COMPLETED)
            if not (answering.done() and answering.result()):
                await playing
        finally:
            playing.cancel()
            answering.cancel()
            await self._source.stop()

    async def _play(self) -> None:
        await self._player.start()
        await self._follow()
        while self._player.rewound:
            self._session.clear()
            self._last.clear()
            self._say("the recording begins again")
            await self._player.restart()
            await self._follow()
        self._say("the recording has ended")

    async def _wish(self, word: str, view: CaseView | None) -> None:
        self._say(words.NOTHING_RUNS)


def play(recording: Recording, task: Path, *, speed: float, loop: bool) -> None:
    """Say a recording in lines until it ends, or the user leaves.

    Args:
        task: The task to speak of, as the recording names it.
    """
    begin = recording.beginning(str(task))
    player = Player(recording, speed=speed, begin=begin, loop=loop, ends=True)
    asyncio.run(PlayedFace(player, task, lambda line: print(line, flush=True)).play(typed()))
