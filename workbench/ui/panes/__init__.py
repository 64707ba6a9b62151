"""Parts of a screen that put several widgets together."""
