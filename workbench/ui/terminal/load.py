"""The emulator for this platform, loaded when the first shell is opened."""

from __future__ import annotations

from workbench.ui.terminal.emulator import EmulatorFactory, EmulatorMissingError


def load_emulator() -> EmulatorFactory:
    """The emulator for this platform, loaded. Takes a quarter of a second the first time.

    Raises:
        EmulatorMissingError: it has no wheel for this platform.
    """
    try:
        from workbench.ui.terminal.ghostty.terminal import GhosttyEmulator
    except (ImportError, OSError) as error:
        raise EmulatorMissingError(f"no terminal emulator for this platform: {error}") from error
    return GhosttyEmulator
