"""The terminal face on a recording: what an engine told once, with the keys of a player."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Input, Static

from workbench import events as ev
from workbench import settings
from workbench.recording.player import Player
from workbench.recording.recording import Recording
from workbench.ui import crash, words
from workbench.ui.app import Demo, WorkbenchApp
from workbench.ui.clicks import clickable
from workbench.ui.commands import Offer, key_shown
from workbench.ui.messages import Ended
from workbench.ui.screen_commands import APP, MAIN, PLAYER, PLAYER_STEP
from workbench.ui.visible import visible

_REFRESH = 0.1
_STATE = len("playing")
"""Columns of the widest state, so that what can be clicked stays in its place."""
_PLAY_AGAIN = replace(APP["engine.restart"], title="Play again", help="Play from the beginning.")
_BETWEEN = 4
"""Columns between how it stands and the keys."""


class PlayBar(Static):
    """Where the recording stands."""

    DEFAULT_CSS = "PlayBar { height: 1; background: $panel; color: $foreground; padding: 0 1; }"

    def __init__(self, player: Player) -> None:
        super().__init__()
        self._player = player

    def on_mount(self) -> None:
        """Follow the time."""
        self.set_interval(_REFRESH, self.show)
        self.show()

    def on_resize(self) -> None:
        """Fit it to the room that there is now."""
        self.show()

    def show(self) -> None:
        """Show where the recording stands now."""
        player = self._player
        state = "paused" if player.paused else "ended" if player.position >= player.duration else "playing"
        sign = {"paused": "‖", "ended": "■", "playing": "▶"}[state]
        loop = " · again and again" if player.loop else ""
        at, end = _clock(player.position), _clock(player.duration)
        stands = Content.assemble(
            (f"{sign} {state:<{_STATE}}", "bold $accent"),
            f" · a recording · {at} of {end} · {player.speed:g}x{loop}",
        )
        keys = Content.assemble(
            self._click("play.pause", " pause"),
            "  ",
            self._click("play.back"),
            "  ",
            self._click("play.forth", f" {PLAYER_STEP} s"),
            "  ",
            self._click("play.faster"),
            " ",
            self._click("play.slower", " speed"),
        )
        if stands.cell_length + keys.cell_length + _BETWEEN > self.content_size.width > 0:
            # The keys must be there to be clicked, so fewer words are made of the rest.
            stands = Content.assemble((f"{sign} {at}", "bold $accent"), f"/{end} · {player.speed:g}x")
        self.update(Content.assemble(stands, " " * _BETWEEN, keys))

    def _click(self, identifier: str, does: str = "") -> Content:
        """A command by its key, which can be clicked."""
        command = PLAYER[identifier]
        said = Content.styled(f"{key_shown(self.app, command)}{does}", "$muted")
        return clickable(said, f"app.{command.action}")


def demo_of(recording: Recording, task: str) -> Demo | None:
    """What a recording begins with, where that is many trials of one case."""
    match recording.begins_with(task):
        case ev.RunQueued(case=case, times=times) if times > 1:
            return Demo(case, times)
    return None


class PlayApp(WorkbenchApp):
    """Shows a recording.

    Attributes:
        player: Plays it.
    """

    OFFER = Offer(
        APP.title,
        (*PLAYER.commands, *(_PLAY_AGAIN if one.id == _PLAY_AGAIN.id else one for one in APP.commands)),
    )
    BINDINGS = PLAYER.bindings()
    ENDED_SAYS = "The session ended here"
    RESTART_DOES = "plays it from the beginning"

    def __init__(self, player: Player, task: Path) -> None:
        super().__init__(
            player,
            task,
            demo=demo_of(player.recording, str(task)),
            settings=settings.load(),
            clock=player.clock,
        )
        self.player = player

    def other_tasks(self) -> list[Path]:
        """Those that are in the recording, too."""
        return [Path(task) for task in self.player.recording.others(self._opening.task)]

    def _open(self) -> None:
        super()._open()
        if others := words.others_recorded(self.player.recording.others(self._opening.task)):
            self.notify(f"{others}; {key_shown(self, MAIN['case.find'])} finds one and plays it.")

    def bars(self) -> ComposeResult:
        """The player's bar."""
        yield PlayBar(self.player)

    def on_ended(self, message: Ended) -> None:
        """Begin anew where the player went back."""
        if self.player.rewound:
            message.prevent_default()
            self.session.clear()
            self._listen(again=True)

    @property
    def is_heard(self) -> bool:
        """No engine hears what is wished for here."""
        return False

    @property
    def can_run(self) -> bool:
        """Nothing runs in a recording."""
        return False

    def refuse(self) -> None:
        """Say why nothing comes of a wish."""
        self.notify(words.NOTHING_RUNS)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """In a line to type in, the player's keys are letters."""
        if action in ("pause", "skip", "faster") and isinstance(self.focused, Input):
            return False
        return super().check_action(action, parameters)

    def action_pause(self) -> None:
        """Pause, or play on."""
        self.player.pause()

    def action_skip(self, seconds: int) -> None:
        """Go forth or back."""
        self.player.seek(self.player.position + seconds)
        self._draw_soon()

    def action_faster(self, steps: int) -> None:
        """Play faster or slower."""
        self.player.faster(steps)

    def action_restart_engine(self) -> None:
        """Play from the beginning."""
        self.player.seek(0)
        if self.player.paused:
            self.player.pause()


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def play(recording: Recording, task: Path, *, speed: float = 1.0, loop: bool = False) -> None:
    """Show a recording until the user leaves.

    Args:
        task: The task to show first, as the recording names it.
    """
    shown: Path | None = task
    while shown:
        player = Player(recording, speed=speed, begin=recording.beginning(str(shown)), loop=loop)
        app = PlayApp(player, shown)
        app.run()
        crash.end_with(app.failure, f"a recording of {visible(str(shown))}")
        shown, speed = app.leaves_for, player.speed
