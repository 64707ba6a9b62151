"""The trial directories that are kept: where they are, what they came to, which to forget."""
