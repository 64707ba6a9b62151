"""Commands by what they are about; each a few lines that hand over. The rest are in `workbench/cli.py`."""
