"""The verifier's checks by name, from the report it leaves beside its reward.

Read in this order: CTRF (`ctrf.json`, else any `*ctrf*.json`), JUnit XML (any `*.xml`), then the summary
that pytest prints with `-rA` or `-v`. Reports come out of the environment, so nothing in them is trusted.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec

from workbench.trials.outcome import Test, TestStatus

LARGEST = 32 * 1024 * 1024
"""Bytes; a larger report is not read."""
_MOST_RERUNS = 1_000_000
"""More than any runner tries; a larger number comes from one that does not count."""

_MILLISECONDS = 1e11
"""A smaller time since 1970 is in seconds."""
_CTRF_STATUS: dict[str, TestStatus] = {
    "passed": "passed",
    "failed": "failed",
    "skipped": "skipped",
    "pending": "skipped",
    "other": "error",
}
_PYTEST_STATUS: dict[str, TestStatus] = {
    "PASSED": "passed",
    "XFAIL": "passed",
    "FAILED": "failed",
    "XPASS": "passed",
    "ERROR": "error",
    "SKIPPED": "skipped",
}
_PYTEST_SUMMARY = re.compile(
    r"^(?:\[gw\d+\] \[ *\d+%\] )?(PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS) (\S+::\S.*?)(?: - (.*))? *$",
    re.MULTILINE,
)
"""With what pytest-xdist puts in front while it runs."""
_PYTEST_VERBOSE = re.compile(
    r"^(\S+::\S.*?) (PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)(?: +\(.*\))?(?: +\[ *\d+%\])?$", re.MULTILINE
)
_PYTEST_RERUN = re.compile(r"^(\S+::\S.*?) RERUN(?: +\(.*\))?(?: +\[ *\d+%\])?$", re.MULTILINE)
_JUNIT_RERUNS = {"rerunFailure", "rerunError", "flakyFailure", "flakyError"}
"""Surefire's, which others write too."""
_RAN_NONE = re.compile(
    r"^(?:=+ )?no tests ran\b|^collected 0 items\s*$|^Ran 0 tests\b|^NO TESTS RAN\b|^1\.\.0\b", re.MULTILINE
)


def read_tests(verifier_dir: Path, printed: str) -> tuple[Test, ...]:
    """The checks that a verifier reports; empty when it names none.

    Args:
        verifier_dir: The trial's `verifier` directory.
        printed: What the verifier printed.
    """
    for pattern, read in (("ctrf.json", _ctrf), ("*ctrf*.json", _ctrf), ("*.xml", _junit)):
        reports = sorted(verifier_dir.glob(pattern)) if verifier_dir.is_dir() else []
        if tests := [test for report in reports for test in read(report)]:
            return tuple(tests)
    return tuple(_pytest(printed))


def ran_none(printed: str) -> bool:
    """Whether a test runner says that it ran no test at all."""
    return bool(_RAN_NONE.search(printed))


def _read(path: Path) -> bytes | None:
    try:
        if path.is_symlink() or path.stat().st_size > LARGEST:
            return None
        return path.read_bytes()
    except OSError:
        return None


def _ctrf(path: Path) -> list[Test]:
    data = _read(path)
    try:
        report: Any = json.loads(data) if data else {}
        found = report["results"]["tests"]
        return [_ctrf_test(test) for test in found if isinstance(test, dict)]
    except (ValueError, KeyError, TypeError, RecursionError):
        return []


def _ctrf_test(test: dict[str, Any]) -> Test:
    message, trace = _message_and_trace(_text(test.get("message") or ""), _text(test.get("trace") or ""))
    return Test(
        name=_text(test.get("name") or "(no name)"),
        status=_CTRF_STATUS.get(str(test.get("status")), "error"),
        message=message,
        seconds=_ctrf_seconds(test),
        reruns=int(min(max(0, _number(test.get("retries")) or 0), _MOST_RERUNS)),
        trace=trace,
    )


def _ctrf_seconds(test: dict[str, Any]) -> float | None:
    """Of milliseconds. pytest-json-ctrf has seconds before 0.6.0, which start and end of a test tell."""
    duration, start, stop = (_number(test.get(key)) for key in ("duration", "start", "stop"))
    if duration is None:
        return None
    elapsed = (stop - start) / (1 if stop < _MILLISECONDS else 1000) if start and stop else 0.0
    return min(duration / 1000, duration, key=lambda seconds: abs(seconds - elapsed))


def _message_and_trace(message: str, trace: str) -> tuple[str, str]:
    """Both, the trace as the message where there is no other, and as nothing where it says no more."""
    return (message, trace if trace not in message else "") if message else (trace, "")


def _text(value: object) -> str:
    """As text that can be told and written. JSON's escapes can name halves of characters, which cannot."""
    return str(value).encode("utf-8", "replace").decode()


def _number(value: object) -> float | None:
    """A number that can be told; None where it is none, or larger than any."""
    try:
        number = float(value) if isinstance(value, int | float) else math.nan
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _junit(path: Path) -> list[Test]:
    data = _read(path)
    # A document type is what entity bombs are made of, and no test runner writes one.
    if not data or b"<!DOCTYPE" in data:
        return []
    try:
        root = ElementTree.fromstring(data)
    except ElementTree.ParseError:
        return []
    return [_junit_test(case) for case in root.iter("testcase")]


def _junit_test(case: ElementTree.Element) -> Test:
    status: TestStatus = "passed"
    message = trace = ""
    reruns = sum(child.tag in _JUNIT_RERUNS for child in case)
    for child in case:
        if child.tag in ("failure", "error", "skipped"):
            status = {"failure": "failed", "error": "error", "skipped": "skipped"}[child.tag]  # type: ignore[assignment]
            message, trace = _message_and_trace(child.get("message", ""), (child.text or "").strip())
    name = "::".join(part for part in (case.get("classname"), case.get("name")) if part)
    try:
        seconds = _number(float(case.get("time", "")))
    except ValueError:
        seconds = None
    return Test(name, status, message, seconds, reruns, trace)


def _pytest(printed: str) -> list[Test]:
    found = {m[2]: Test(m[2], _PYTEST_STATUS[m[1]], m[3] or "") for m in _PYTEST_SUMMARY.finditer(printed)}
    for m in _PYTEST_VERBOSE.finditer(printed):
        found.setdefault(m[1], Test(m[1], _PYTEST_STATUS[m[2]]))
    for name, reruns in Counter(m[1] for m in _PYTEST_RERUN.finditer(printed)).items():
        if name in found:
            found[name] = msgspec.structs.replace(found[name], reruns=reruns)
    return list(found.values())
