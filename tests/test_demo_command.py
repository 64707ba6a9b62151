"""`workbench demo` on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from workbench.cli import commands


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nowhere"], "nowhere: there is no such directory"),
        (["."], "use `workbench check .`"),
        ([".", "-k", "0"], "0 is not in the range 1<=x<=200"),
        ([".", "-k", "1000"], "1000 is not in the range 1<=x<=200"),
        ([".", "--agent", "a", "--agent", "b"], "say which by --case: 'a' or 'b'"),
    ],
)
def test_a_demo_that_cannot_be_says_why(
    words: list[str], said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(commands, ["demo", *words])
    assert result.exit_code == 2
    assert said in result.output


def test_a_demo_of_trials_that_ran_already_says_how_to_see_them(tmp_path: Path) -> None:
    trial = tmp_path / "job" / "trial"
    trial.mkdir(parents=True)
    for name in ("config.json", "trial.log"):
        (trial / name).write_text("{}")
    result = CliRunner().invoke(commands, ["demo", str(tmp_path / "job")])
    assert result.exit_code == 2
    assert "has trials, which ran already" in " ".join(result.output.split())
