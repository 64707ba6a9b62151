"""The command palette: everything that can be done on the screen, found by its name."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.types import IgnoreReturnCallbackType

from workbench.ui.commands import Command, keys_shown, offered


class CommandProvider(Provider):
    """Offers what the screen offers."""

    async def discover(self) -> Hits:
        """Everything."""
        for command, run in self._commands():
            yield DiscoveryHit(_name(command), run, help=self._help(command))

    async def search(self, query: str) -> Hits:
        """What matches, by title and explanation."""
        matcher = self.matcher(query)
        for command, run in self._commands():
            if (score := matcher.match(f"{_name(command)} {command.help}")) > 0:
                # The title alone, so that the marks are where the user looks.
                yield Hit(score, matcher.highlight(_name(command)), run, help=self._help(command))

    def _commands(self) -> Iterator[tuple[Command, IgnoreReturnCallbackType]]:
        for node, offer in offered(self.screen):
            for command in offer.commands:
                if command.id != "palette":
                    yield command, partial(self.app.run_action, command.action, node)

    def _help(self, command: Command) -> str:
        return f"{keys_shown(self.app, command)}  {command.help}"


def _name(command: Command) -> str:
    return command.title
