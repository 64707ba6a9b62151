"""What lies over the main screen and shows what happens."""

from __future__ import annotations

from textual.screen import ModalScreen


class LiveScreen(ModalScreen[None]):
    """An overlay that is drawn again whenever the main screen is."""

    def refresh_views(self) -> None:
        """Show what is known now."""
        raise NotImplementedError
