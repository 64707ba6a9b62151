"""The keys that do something where the focus is."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.widgets import Footer
from textual.widgets._footer import FooterKey

from workbench.ui.terminal.keys import is_for_workbench
from workbench.ui.terminal.terminal import Terminal


class KeyBar(Footer):
    """A footer that leaves out, while one types in a shell, the keys that go there."""

    def __init__(self) -> None:
        super().__init__(show_command_palette=False)

    def compose(self) -> ComposeResult:
        """One key for each action."""
        if not self._bindings_ready:
            return
        screen = self.screen
        typing = isinstance(screen.focused, Terminal)
        seen: set[str] = set()
        for key, (_, binding, enabled, tooltip) in screen.active_bindings.items():
            if not binding.show or binding.action in seen or (typing and not is_for_workbench(key, screen)):
                continue
            seen.add(binding.action)
            yield FooterKey(
                key,
                self.app.get_key_display(binding),
                binding.description,
                binding.action,
                disabled=not enabled,
                tooltip=tooltip,
            ).data_bind(compact=Footer.compact)
