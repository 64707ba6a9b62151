"""The result as a JUnit file: a suite a task, a test a case."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree as ET

from workbench.check.result import evidence, reason, word
from workbench.console import plain
from workbench.session import CaseView, Session, TaskView
from workbench.trials.outcome import OutcomeKind

_ERRORS: frozenset[OutcomeKind] = frozenset({"void", "error", "timeout", "killed"})


def write(path: Path, tasks: Sequence[TaskView], session: Session) -> None:
    """Write the file, whole or not at all.

    Args:
        tasks: In the order of their suites.
        session: What they are part of.

    Raises:
        OSError: it cannot be written.
    """
    root = ET.Element("testsuites", name="workbench check")
    for task in tasks:
        root.append(_suite(task, session))
    for key in ("tests", "failures", "errors", "skipped"):
        root.set(key, str(sum(int(suite.get(key, "0")) for suite in root)))
    root.set("time", f"{sum(float(suite.get('time', '0')) for suite in root):.3f}")
    ET.indent(root)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            ET.ElementTree(root).write(file, encoding="utf-8", xml_declaration=True)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _suite(task: TaskView, session: Session) -> ET.Element:
    tests = [_test(task, view) for view in task.cases.values()]
    if not tests or task.unreadable:
        tests.append(_of_task(task, session))
    suite = ET.Element("testsuite", name=task.name)
    for key, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(key, str(sum(test.find(tag) is not None for test in tests)))
    suite.set("tests", str(len(tests)))
    suite.set("time", f"{sum(float(test.get('time', '0')) for test in tests):.3f}")
    starts = [run.started_at for run in session.runs.values() if run.task == task.path and run.started_at]
    if starts:
        suite.set("timestamp", datetime.fromtimestamp(min(starts), UTC).isoformat(timespec="seconds"))
    properties = ET.SubElement(suite, "properties")
    for name, value in (("verdict", word(task)), ("reason", reason(task)), ("directory", task.path)):
        ET.SubElement(properties, "property", name=name, value=plain(value))
    suite.extend(tests)
    return suite


def _of_task(task: TaskView, session: Session) -> ET.Element:
    """Stands for a task that could not be run at all."""
    test = ET.Element("testcase", name="task.toml", classname=task.name, time="0")
    failed = session.failed
    message = reason(task) if task.unreadable or failed is None else failed.message
    _say(test, "error", message, "\n".join(str(problem) for problem in task.problems))
    return test


def _test(task: TaskView, view: CaseView) -> ET.Element:
    run = view.current
    outcome = run.outcome if run else None
    test = ET.Element("testcase", name=plain(view.case.name), classname=plain(task.name))
    test.set("time", f"{outcome.seconds:.3f}" if outcome else "0")
    if run is None or outcome is None or outcome.kind == "cancelled":
        _say(test, "skipped", outcome.reason if outcome else "it did not run", "")
        return test
    if view.case.expect and not outcome.met:
        tag = "error" if outcome.kind in _ERRORS else "failure"
        lines = [line for heading, lines in evidence(run) for line in (heading, *lines)]
        _say(test, tag, f"must {view.case.expect}: {outcome.reason}", "\n".join(lines).strip("\n"))
    ET.SubElement(test, "system-out").text = f"trial: {plain(run.trial_dir)}\n"
    return test


def _say(test: ET.Element, tag: str, message: str, text: str) -> None:
    element = ET.SubElement(test, tag, message=plain(message))
    if text:
        element.text = plain(text)
