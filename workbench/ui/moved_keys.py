"""What a user's keys move besides what they name."""

from __future__ import annotations

from collections.abc import Mapping

_IN_OVERLAYS = ("help", "palette", "quit")
"""The app's commands that overlays have of their own, since they take no keys from what is beneath."""


def followed(keys: Mapping[str, str]) -> dict[str, str]:
    """Moved keys, with those of overlays beside those of the app that do the same, unless moved as well."""
    return {f"overlay.{name}": keys[name] for name in _IN_OVERLAYS if name in keys} | dict(keys)
