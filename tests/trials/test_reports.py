"""Tests by name, as verifiers report them."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from workbench.trials.outcome import Test
from workbench.trials.read import Printed
from workbench.trials.reports import ran_none, read_tests


def test_ctrf_gives_names_statuses_messages_and_seconds(tmp_path: Path) -> None:
    tests = [
        {"name": "adds", "status": "passed", "duration": 12},
        {"name": "divides", "status": "failed", "duration": 3, "message": "ZeroDivisionError"},
        {
            "name": "rounds",
            "status": "failed",
            "message": "it failed",
            "trace": "test_a.py:3: AssertionError",
        },
        {"name": "sums", "status": "failed", "trace": "test_a.py:5: AssertionError"},
        {"name": "waits", "status": "pending"},
    ]
    (tmp_path / "ctrf.json").write_text(json.dumps({"results": {"tests": tests}}))
    assert read_tests(tmp_path, "") == (
        Test("adds", "passed", "", 0.012),
        Test("divides", "failed", "ZeroDivisionError", 0.003),
        Test("rounds", "failed", "it failed", None, trace="test_a.py:3: AssertionError"),
        Test("sums", "failed", "test_a.py:5: AssertionError"),
        Test("waits", "skipped", "", None),
    )


@pytest.mark.parametrize(
    "times",
    [
        {"duration": 2500, "start": 1_796_044_791_747, "stop": 1_796_044_794_247},
        {"duration": 2500},
        # As pytest-json-ctrf writes them: 0.3.5, then 0.5.0.
        {"duration": 2.5, "start": 1_796_044_791.747, "stop": 1_796_044_794.301},
        {"duration": 2.5, "start": 1_796_044_791_747, "stop": 1_796_044_794_301},
    ],
)
def test_a_runner_that_writes_seconds_where_ctrf_has_milliseconds_is_understood(
    tmp_path: Path, times: dict[str, float]
) -> None:
    tests = [{"name": "waits", "status": "passed"} | times]
    (tmp_path / "ctrf-report.json").write_text(json.dumps({"results": {"tests": tests}}))
    assert read_tests(tmp_path, "") == (Test("waits", "passed", seconds=2.5),)


def test_a_report_of_another_name_does_not_count_beside_ctrf_json(tmp_path: Path) -> None:
    for name in ("ctrf.json", "ctrf-of-the-run-before.json"):
        (tmp_path / name).write_text(json.dumps({"results": {"tests": [{"name": name, "status": "passed"}]}}))
    assert [test.name for test in read_tests(tmp_path, "")] == ["ctrf.json"]


def test_junit_gives_class_and_name_and_the_failure(tmp_path: Path) -> None:
    (tmp_path / "report.xml").write_text(
        '<testsuites><testsuite><testcase classname="t" name="one" time="0.5"/>'
        '<testcase classname="t" name="two" time="0.1"><failure message="no">trace</failure></testcase>'
        "</testsuite></testsuites>"
    )
    assert read_tests(tmp_path, "") == (
        Test("t::one", "passed", "", 0.5),
        Test("t::two", "failed", "no", 0.1, trace="trace"),
    )


def test_pytest_output_is_read_where_there_is_no_report(tmp_path: Path) -> None:
    printed = (
        "tests/test_a.py::test_x PASSED   [ 50%]\n"
        "tests/test_a.py::test_y FAILED   [100%]\n"
        "FAILED tests/test_a.py::test_y - AssertionError: 1 != 2\n"
    )
    assert read_tests(tmp_path, printed) == (
        Test("tests/test_a.py::test_y", "failed", "AssertionError: 1 != 2"),
        Test("tests/test_a.py::test_x", "passed", ""),
    )


def test_pytest_output_of_several_workers_is_read(tmp_path: Path) -> None:
    printed = (
        "[gw1] [ 33%] PASSED tests/test_a.py::test_x \n"
        "[gw0] [ 66%] SKIPPED tests/test_a.py::test_z \n"
        "[gw0] [100%] FAILED tests/test_a.py::test_y \n"
        "FAILED tests/test_a.py::test_y - AssertionError: 1 != 2\n"
    )
    assert read_tests(tmp_path, printed) == (
        Test("tests/test_a.py::test_x", "passed"),
        Test("tests/test_a.py::test_z", "skipped"),
        Test("tests/test_a.py::test_y", "failed", "AssertionError: 1 != 2"),
    )


@pytest.mark.parametrize(
    "printed",
    [
        # With --color=yes; and as a terminal's line ends come.
        b"\x1b[31mFAILED\x1b[0m test_a.py::\x1b[1mtest_y\x1b[0m - assert 1 == 2\n"
        b"\x1b[33m=== no tests ran in 1s ===\x1b[0m",
        b"FAILED test_a.py::test_y - assert 1 == 2\r\n=== no tests ran in 1s ===\r\n",
    ],
)
def test_what_a_runner_printed_for_a_terminal_is_read_as_any_other(tmp_path: Path, printed: bytes) -> None:
    (tmp_path / "verifier").mkdir()
    (tmp_path / "verifier" / "test-stdout.txt").write_bytes(printed)
    said = Printed(tmp_path).verifier()
    assert read_tests(tmp_path / "verifier", said) == (Test("test_a.py::test_y", "failed", "assert 1 == 2"),)
    assert ran_none(said)


def test_how_often_a_runner_tried_again_is_told_by_each_kind_of_report(tmp_path: Path) -> None:
    printed = (
        "tests/test_a.py::test_x RERUN    [ 50%]\n"
        "tests/test_a.py::test_x RERUN    [ 50%]\n"
        "tests/test_a.py::test_x PASSED   [ 50%]\n"
        "tests/test_a.py::test_y PASSED   [100%]\n"
    )
    assert [(test.status, test.reruns) for test in read_tests(tmp_path, printed)] == [
        ("passed", 2),
        ("passed", 0),
    ]
    report = tmp_path / "report.xml"
    report.write_text(
        '<testsuite><testcase name="one"><flakyFailure message="first"/><flakyError/></testcase>'
        '<testcase name="two"><failure message="no"/><rerunFailure message="no"/></testcase></testsuite>'
    )
    assert [(test.status, test.reruns) for test in read_tests(tmp_path, "")] == [("passed", 2), ("failed", 1)]
    tests = [{"name": "adds", "status": "passed", "retries": 3, "flaky": True}]
    (tmp_path / "ctrf.json").write_text(json.dumps({"results": {"tests": tests}}))
    assert read_tests(tmp_path, "") == (Test("adds", "passed", reruns=3),)


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"results": 3}', '{"results": {"tests": "no"}}', "[" * 100_000]
)
def test_a_report_that_is_none_names_no_tests(tmp_path: Path, content: str) -> None:
    (tmp_path / "ctrf.json").write_text(content)
    assert read_tests(tmp_path, "") == ()


def test_numbers_and_texts_that_cannot_be_told_are_left_out_and_the_rest_is_read(tmp_path: Path) -> None:
    huge = 10**400
    (tmp_path / "ctrf.json").write_text(
        f'{{"results": {{"tests": [{{"name": "half \\ud800", "message": "of \\udfff", "status": "failed"}},'
        f' {{"name": "slow", "status": "passed", "duration": {huge}, "retries": {huge}}},'
        f' {{"name": "often", "status": "passed", "duration": NaN, "retries": {10**30}}}]}}}}'
    )
    tests = read_tests(tmp_path, "")
    assert tests == (
        Test("half ?", "failed", "of ?"),
        Test("slow", "passed"),
        Test("often", "passed", reruns=1_000_000),
    )
    assert msgspec.json.decode(msgspec.json.encode(tests), type=tuple[Test, ...]) == tests


def test_a_report_that_leads_out_of_the_trial_is_not_read(tmp_path: Path) -> None:
    outside = tmp_path / "outside.json"
    outside.write_text(json.dumps({"results": {"tests": [{"name": "x", "status": "passed"}]}}))
    verifier = tmp_path / "verifier"
    verifier.mkdir()
    (verifier / "ctrf.json").symlink_to(outside)
    assert read_tests(verifier, "") == ()


def test_xml_entities_are_not_expanded(tmp_path: Path) -> None:
    (tmp_path / "bomb.xml").write_text(
        '<!DOCTYPE x [<!ENTITY a "aaaa">]><testsuite><testcase name="&a;"/></testsuite>'
    )
    assert read_tests(tmp_path, "") == ()


@pytest.mark.parametrize(
    ("printed", "none"),
    [
        ("collected 0 items\n\n=== no tests ran in 0.01s ===\n", True),
        ("Ran 0 tests in 0.000s\n\nNO TESTS RAN\n", True),
        ("collected 3 items\n", False),
        ("Ran 12 tests in 0.1s\n", False),
    ],
)
def test_a_runner_that_found_nothing_to_run_is_noticed(printed: str, none: bool) -> None:
    assert ran_none(printed) is none
