"""The shell pane: a real terminal in the window."""
