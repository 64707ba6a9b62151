"""Tabs by name, each loaded when it is first asked for."""

from __future__ import annotations

from workbench.ui.tabs.tab import RunTab


def load(name: str) -> RunTab:
    """The content of a tab.

    Raises:
        ValueError: there is no such tab.
    """
    match name:
        case "verifier" | "agent":
            from workbench.ui.tabs.output import OutputTab

            return OutputTab("agent" if name == "agent" else "verifier")
        case "tests":
            from workbench.ui.tabs.tests import TestsTab

            return TestsTab()
        case "steps":
            from workbench.ui.tabs.steps import StepsTab

            return StepsTab()
        case "trajectory":
            from workbench.ui.tabs.trajectory import TrajectoryTab

            return TrajectoryTab()
        case "timing":
            from workbench.ui.tabs.timing import TimingTab

            return TimingTab()
        case "files":
            from workbench.ui.tabs.files import FilesTab

            return FilesTab()
        case "log":
            from workbench.ui.tabs.log import LogTab

            return LogTab()
        case "problems":
            from workbench.ui.tabs.problems import ProblemsTab

            return ProblemsTab()
    raise ValueError(name)
