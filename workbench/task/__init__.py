"""What the author writes: files and their roles, watching, problems, edits, scaffolding."""
