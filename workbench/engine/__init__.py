"""The engine: puts the rooms together and serves the event stream. Runs as `python -m workbench.engine`."""
