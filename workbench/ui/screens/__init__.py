"""Whole screens, each loaded when it is first shown, with its style sheet beside it."""
