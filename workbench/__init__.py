"""Harbor Workbench: a terminal workbench for people who author Harbor tasks."""
