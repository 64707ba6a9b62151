"""What lies over the main screen and shows what happens."""

from __future__ import annotations

from workbench.ui.overlay import Overlay


class LiveScreen[Result](Overlay[Result]):
    """An overlay that is drawn again whenever the main screen is."""

    def refresh_views(self) -> None:
        """Show what is known now."""
        raise NotImplementedError
