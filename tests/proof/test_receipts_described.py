"""A task's proof as one document."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.proof.made import INPUTS, NOON, graded, receipt
from workbench.cases.case import Case
from workbench.proof.database import Database
from workbench.proof.describe import describe
from workbench.proof.documents import Inputs, ProofReceipt
from workbench.proof.receipts import Receipts
from workbench.trials.outcome import Outcome, Test

TASK = "/tasks/slugify"
CASES = (
    Case("oracle", "oracle", "pass"),
    Case("nop", "nop", "fail"),
    Case("claude", "agent", None),
)


@pytest.fixture
def receipts(tmp_path: Path) -> Iterator[Receipts]:
    database = Database.open(tmp_path / "receipts.db", pytest.fail)
    yield Receipts(database)
    database.close()


def described(receipts: Receipts, **now: Inputs) -> ProofReceipt:
    inputs = {case.name: INPUTS for case in CASES} | now
    return describe(TASK, "demo/slugify", "digest-1", CASES, inputs, receipts, at=NOON + 60)


def prove(receipts: Receipts) -> None:
    receipts.record(receipt("oracle", at=NOON))
    receipts.record(receipt("nop", at=NOON + 10, expect="fail", outcome=graded(0)))


def test_a_proof_that_holds_says_on_what_and_since_when(receipts: Receipts) -> None:
    prove(receipts)
    proof = described(receipts)
    assert (proof.verdict.kind, proof.verdict.held, proof.stale, proof.whole) == ("holds", 2, (), True)
    assert (proof.task, proof.name, proof.digest) == (TASK, "demo/slugify", "digest-1")
    assert (proof.harbor, proof.provider, proof.provider_version) == ("0.26.0", "bubblewrap", "0.11.0")
    assert (proof.workbench, proof.platform, proof.threshold) == ("0.1.0", "linux/x86_64", 1.0)
    assert proof.date == "2025-10-09T08:53:20+00:00"


def test_each_case_tells_its_run(receipts: Receipts) -> None:
    prove(receipts)
    oracle, nop, _ = described(receipts).cases
    assert (oracle.case, oracle.expect, oracle.outcome, oracle.met) == ("oracle", "pass", "passed", True)
    assert (oracle.reward, oracle.whole, oracle.age_seconds) == (1, True, 60)
    assert oracle.tests == (
        Test("test_words", "passed", seconds=0.01),
        Test("test_title", "passed", "as it should"),
    )
    assert oracle.seconds == pytest.approx(1.0)
    assert (oracle.image, oracle.machine, oracle.inputs) == ("python:3.12-slim", "bench", INPUTS)
    assert (oracle.trial_dir, oracle.trial_gone) == ("/trials/gone", True)
    assert (nop.outcome, nop.met, nop.reward, nop.age_seconds) == ("failed", True, 0, 50)


def test_a_stale_case_says_why_and_proves_nothing(receipts: Receipts) -> None:
    prove(receipts)
    proof = described(receipts, nop=msgspec.structs.replace(INPUTS, verdict_key="verdict-2"))
    why = "the verdict stage changed: tests, verifier settings or the expectation"
    assert proof.stale == (f"nop: {why}",)
    assert (proof.cases[1].stale, proof.cases[1].reward) == (why, 0)
    assert (proof.verdict.kind, proof.verdict.reason) == ("unproven", "nop has not run")


def test_a_stale_case_says_what_changed_where_that_is_known(receipts: Receipts) -> None:
    prove(receipts)
    inputs = dict.fromkeys(("oracle", "nop", "claude"), msgspec.structs.replace(INPUTS, verdict_key="v"))
    changed = {"oracle": "tests/test.sh changed"}
    proof = describe(TASK, "demo/slugify", "digest-2", CASES, inputs, receipts, changed)
    assert proof.stale == (
        "oracle: tests/test.sh changed",
        "nop: the verdict stage changed: tests, verifier settings or the expectation",
    )


def test_a_case_that_never_ran_says_so(receipts: Receipts) -> None:
    receipts.record(receipt("oracle"))
    proof = described(receipts)
    assert proof.stale == ("nop: it has not run",), "a case without an expectation is no part of the proof"
    assert (proof.cases[2].stale, proof.cases[2].outcome) == ("it has not run", None)


def test_a_task_that_never_ran_stands_on_nothing(receipts: Receipts) -> None:
    proof = described(receipts)
    assert (proof.verdict.kind, proof.date, proof.whole) == ("unproven", "", False)
    assert proof.stale == ("oracle: it has not run", "nop: it has not run")


def test_the_receipt_of_these_files_counts_even_where_a_newer_one_is_of_others(receipts: Receipts) -> None:
    prove(receipts)
    edited = msgspec.structs.replace(INPUTS, verdict_key="verdict-2")
    receipts.record(receipt("oracle", inputs=edited, at=NOON + 20, outcome=graded(0, met=False)))
    proof = described(receipts)
    assert (proof.verdict.kind, proof.cases[0].reward) == ("holds", 1)


def test_a_re_verified_case_shows(receipts: Receipts) -> None:
    prove(receipts)
    receipts.record(receipt("oracle", outcome=graded(1, whole=False)))
    proof = described(receipts)
    assert (proof.whole, proof.cases[0].whole, proof.cases[1].whole) == (False, False, True)


def test_repeats_that_differ_are_flaky(receipts: Receipts) -> None:
    prove(receipts)
    receipts.record(receipt("oracle", outcome=graded(0, met=False)))
    receipts.record(receipt("oracle"))
    verdict = described(receipts).verdict
    assert (verdict.kind, verdict.reason) == ("flaky", "oracle does not come out the same: reward 1, then 0")


def test_a_void_run_is_no_proof(receipts: Receipts) -> None:
    prove(receipts)
    receipts.record(receipt("nop", outcome=Outcome("void", "the verifier ran no test")))
    proof = described(receipts)
    assert proof.stale == ()
    assert (proof.verdict.kind, proof.verdict.cases) == ("unproven", ("nop",))


def test_the_document_is_json_and_back(receipts: Receipts) -> None:
    prove(receipts)
    proof = described(receipts)
    assert msgspec.json.decode(msgspec.json.encode(proof), type=ProofReceipt) == proof


def test_a_task_without_cases_has_no_receipt(receipts: Receipts) -> None:
    with pytest.raises(ValueError, match="a task without cases has no receipt"):
        describe(TASK, "demo/slugify", "digest-1", (), {}, receipts)
