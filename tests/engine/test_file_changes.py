"""What runs changed, beside Harbor's own files: of whole trials, and of verifications of what they left."""

from __future__ import annotations

from pathlib import Path

from tests.engine.conftest import Engine, outcome
from workbench import places
from workbench.session import TaskView
from workbench.trials.file_changes import FileChange, read_changes


def changed(view: TaskView, case: str, step: str = "") -> dict[str, FileChange]:
    """What the newest run of a case changed, by path."""
    run = view.cases[case].decided
    assert run is not None
    found = read_changes(Path(run.trial_dir), step)
    assert found is not None
    assert (found.left_out, found.notes) == (0, ())
    return {file.path: file for file in found.files}


async def test_a_run_tells_what_it_changed_and_a_verification_of_it_the_same(
    engine: Engine, slugify: Path
) -> None:
    view = await engine.open(slugify)
    oracle = changed(view, "oracle")
    assert oracle["/app/slugify.py"].change == "added"
    assert "+def slugify" in oracle["/app/slugify.py"].diff
    assert changed(view, "nop") == {}
    test = slugify / "tests/test.sh"
    test.write_text(test.read_text() + "\n# again\n")
    await engine.until(lambda: not outcome(view.cases["oracle"]).whole and view.settled)
    assert changed(view, "oracle") == oracle


async def test_separate_verifiers_and_steps_are_no_hindrance(engine: Engine) -> None:
    samples = places.shipped("sample_tasks")
    view = await engine.open(samples / "separate-verifier", watch=False)
    assert changed(view, "oracle")
    view = await engine.open(samples / "multi-step", watch=False)
    assert view.opened is not None
    assert all(changed(view, "oracle", step) for step in view.opened.steps)
