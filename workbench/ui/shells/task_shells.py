"""The shell pane of a task: asks the engine for machines, and shows the shells on them."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import cast

from textual import on
from textual.message import Message

from workbench import events as ev
from workbench import wishes
from workbench.session import Session, TaskView
from workbench.ui import words
from workbench.ui.base_app import BaseApp
from workbench.ui.commands import Offer, key_shown
from workbench.ui.images import most_urgent, place
from workbench.ui.messages import Wished
from workbench.ui.screen_commands import APP, MAIN
from workbench.ui.shells.draft import DraftScreen
from workbench.ui.shells.keys import DRAFT, EDIT_DRAFT, OWN, TASK_SHELLS
from workbench.ui.terminal.pane import ShellPane
from workbench.ui.terminal.shell import Shell
from workbench.ui.visible import one_line

_OUTDATED = " before its rebuild"

type _Word = ev.ShellReady | ev.ShellFailed | ev.ShellLost


class TaskShells(ShellPane):
    """Shells on a task's machines.

    It has the class `-none` while there is nothing to show in it.
    """

    OFFER = TASK_SHELLS
    BINDINGS = Offer("", OWN).bindings()
    ALLOW_MAXIMIZE = True

    @dataclass
    class Tried(Message):
        """The verifier runs on a branch of a shell's machine; this case shows it."""

        case: str

    @dataclass
    class EditWanted(Message):
        """The user wants to edit a file of the task."""

        path: str
        """Relative to the task."""

    def __init__(self, task: str, *, first: bool) -> None:
        """
        Args:
            task: The task's absolute directory.
            first: Whether to open a shell on its image as soon as there is a machine.
        """
        super().__init__(classes="-none")
        self._path = task
        self._session = Session()
        self._view = TaskView(task)
        self._opens_first = first
        self._engine_at = 0.0
        """When the engine began that was asked for the first shell."""
        self._numbers = itertools.count(1)
        self._stands_on: dict[str, str] = {}
        """By key, the case a shell stands on; empty for the image."""
        self._asked: dict[str, str] = {}
        """As `_stands_on`, for those that are waited for."""
        self._opening: set[str] = set()
        """Those that have a machine and are about to be shown."""
        self._heard: dict[str, _Word] = {}
        self._failed: ev.ShellFailed | None = None
        self._entering = ""
        """The key of the shell to go to when it opens."""
        self._drafted_at = 0.0
        """When the newest draft was written that was told."""
        self._tries: dict[str, bool] = {}
        """Runs of what was tried, and whether their end was told."""

    def on_mount(self) -> None:
        """Say how to get in."""
        self._way_in = f"{key_shown(self.app, MAIN['pane.shells'])} or a click"

    # What the engine says.

    def show(self, session: Session, task: TaskView) -> None:
        """Show the task's shells as they stand."""
        self._session, self._view = session, task
        if session.stopped:
            self._asked.clear()
        self._open_first()
        for key, word in task.shells.items():
            if self._heard.get(key) is not word:
                self._heard[key] = word
                self._hear(key, word)
        for draft in task.drafts:
            if draft.at > self._drafted_at:
                self._drafted_at = draft.at
                key = key_shown(self.app, EDIT_DRAFT)
                self._tell(f"Drafted {one_line(draft.path)} of what was typed; {key} edits it.")
        self._tell_tries()
        self._tell_outdated()
        self._tell_empty()

    def _open_first(self) -> None:
        """Ask for the shell that stands ready, once an engine has read the task.

        Again when it could not be made and the task or an image has changed since.
        """
        engine, opened = self._session.engine, self._view.opened
        if not self._opens_first or engine is None or opened is None or opened.at < engine.at:
            return
        changed = max([opened.at, *(image.ready_at or 0.0 for image in self._view.images.values())])
        again = self._failed is not None and not self._asked and changed > self._failed.at
        if self._engine_at != engine.at or again:
            self._engine_at = engine.at
            self._failed = None
            if not self.shells:
                self._ask("")

    def _hear(self, key: str, word: _Word) -> None:
        on = self._asked.pop(key, None)
        if isinstance(word, ev.ShellReady):
            if on is None:
                return  # never asked for, so its command is not run
            self._stands_on[key] = on
            self._failed = None
            self._opening.add(key)
            self.run_worker(self._show_ready(key, word), group="shells")
        elif isinstance(word, ev.ShellLost):
            self.lose(key, word.reason)
        elif on is not None:
            self._failed = word if not self.shells else None
            if self.shells or self._entering == key:
                run = f"; {key_shown(self.app, MAIN['run.case'])} runs the selected case" if on else ""
                self._tell(f"No shell on {self._what(on)}: {one_line(word.reason)}{run}", "error")
        self._tell_empty()

    async def _show_ready(self, key: str, ready: ev.ShellReady) -> None:
        titles = [shell.title for shell in self.shells if shell.key != key]
        names = itertools.chain([ready.title], (f"{ready.title} {n}" for n in itertools.count(2)))
        title = next(name for name in names if one_line(name) not in titles)
        enters = self._entering == key
        self._entering = "" if enters else self._entering
        await self.open(key, title, ready.command, focus=enters)
        self._opening.discard(key)
        self._tell_empty()
        if isinstance(word := self._heard.get(key), ev.ShellLost):
            self.lose(key, word.reason)

    def _tell_tries(self) -> None:
        for view in self._view.cases.values():
            for run in view.runs if view.case.kind == "shell" else ():
                if run.id not in self._tries:
                    self._tries[run.id] = False
                    self.post_message(self.Tried(view.case.name))
                if run.outcome and not self._tries[run.id]:
                    self._tries[run.id] = True
                    mark = words.outcome_mark(run.outcome)
                    self._tell(f"{mark.sign} Tried here: {mark.word}: {words.reason(run.outcome)}")

    def _tell_outdated(self) -> None:
        """Say of shells on the image that another one serves by now."""
        opened = self._view.opened
        image = self._view.images.get(opened.image.rpartition("/")[0]) if opened else None
        if image is None or image.ready is None or image.ready.same or image.ready_at is None:
            return
        for shell in self.shells:
            word = self._heard.get(shell.key)
            older = isinstance(word, ev.ShellReady) and word.at < image.ready_at
            if older and self._stands_on.get(shell.key) == "" and not shell.title.endswith(_OUTDATED):
                self.rename(shell.key, f"{shell.title}{_OUTDATED}")

    def _tell_empty(self) -> None:
        """Say what to expect where no shell is open, and take no room when that is nothing."""
        text = ""
        if self._asked:
            text = f"A machine boots from {self._what(next(iter(self._asked.values())))} ..."
            image = most_urgent(self._view.images.values())
            if image and image.building and not image.ready:
                text = f"The image is being built, {place(image)} steps. A shell opens when it is there."
        elif self._opening:
            text = "The shell starts ..."
        elif self._failed:
            text = f"No shell: {one_line(self._failed.reason)}"
        self.set_class(not text and not self.shells, "-none")
        self.say(text or "No shell is open.")

    @staticmethod
    def _what(on: str) -> str:
        return f"what {one_line(on)} left" if on else "the image"

    # What the user asks for.

    def ask(self, on: str) -> bool:
        """Open another shell and go to it.

        Args:
            on: The case whose leavings it stands on; empty for the image.

        Returns:
            Whether there will be something to show here; if not, it was said why.
        """
        if self._session.engine is None or self._session.stopped:
            key = key_shown(self.app, APP["engine.restart"])
            does = cast(BaseApp, self.app).RESTART_DOES
            self._tell(f"No engine runs that could make a machine; {key} {does}.", "warning")
            return False
        if not cast(BaseApp, self.app).can_run:
            # Whoever hears of it says why nothing comes of it, and there is nothing to wait for.
            self._wish(wishes.OpenShell(task=self._path, shell=on or "image", on=on))
            return False
        if on not in self._asked.values():
            self._entering = self._ask(on)
            self._tell_empty()
        return True

    def _ask(self, on: str, key: str = "") -> str:
        key = key or f"{on or 'image'}-{next(self._numbers)}"
        self._asked[key] = on
        self._wish(wishes.OpenShell(task=self._path, shell=key, on=on))
        return key

    @on(ShellPane.AnotherWanted)
    def _ask_another(self, event: ShellPane.AnotherWanted) -> None:
        event.stop()
        on = self._stands_on.get(event.key, "")
        shell = self._find(event.key)
        if shell and (shell.ended or shell.lost) and not self._session.stopped:
            self._entering = self._ask(on, event.key)
        else:
            self.ask(on)

    @on(ShellPane.Closed)
    def _end_machine(self, event: ShellPane.Closed) -> None:
        event.stop()
        self._stands_on.pop(event.key, None)
        self._wish(wishes.CloseShell(task=self._path, shell=event.key))
        self._tell_empty()

    def action_try_here(self) -> None:
        """Run the verifier on a branch of the machine as it stands."""
        if shell := self._with_machine():
            self._wish(wishes.TryHere(task=self._path, shell=shell.key))

    def action_bring_in(self) -> None:
        """Copy tests and solution into the machine."""
        if shell := self._with_machine():
            self._wish(wishes.BringIn(task=self._path, shell=shell.key))

    def action_draft(self) -> None:
        """Ask for a name, and write what was typed."""

        def write(name: str | None) -> None:
            if name is not None:
                self._wish(wishes.Draft(task=self._path, shell=key, name=name))

        if shell := self._with_machine():
            key = shell.key
            self.app.push_screen(DraftScreen(shell.title), write)

    def action_edit_draft(self) -> None:
        """Have what was drafted last opened in the editor."""
        if self._view.drafts:
            self.post_message(self.EditWanted(self._view.drafts[-1].path))
        else:
            key = key_shown(self.app, DRAFT)
            self._tell(f"Nothing has been drafted yet; {key} writes what was typed as a script.")

    def action_maximise(self) -> None:
        """Let the shells fill the screen, or undo it."""
        if self.screen.maximized:
            self.screen.minimize()
        else:
            self.screen.maximize(self, container=False)

    def _with_machine(self) -> Shell | None:
        shell = self.active
        if shell is None:
            key = key_shown(self.app, MAIN["shell.image"])
            self._tell(f"No shell is open; {key} opens one on the image.", "warning")
        elif shell.lost:
            self._tell("The machine of this shell is gone.", "warning")
            return None
        return shell

    def _wish(self, wish: wishes.Wish) -> None:
        self.post_message(Wished(wish))

    def _tell(self, text: str, severity: str = "information") -> None:
        self.app.notify(text, severity=severity, markup=False)  # type: ignore[arg-type]
