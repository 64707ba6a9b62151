"""Harbor's own lint, with the rules that the task or its dataset selects, and with places in task.toml."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from harbor.lint import lint_task
from harbor.lint.models import DEFAULT_RULES, LintConfig, LintFinding, LintRule
from harbor.models.dataset.paths import DatasetPaths
from harbor.models.task.paths import TaskPaths

from workbench.task.load import LoadedTask
from workbench.task.problem import Problem, Severity
from workbench.task.text import shown
from workbench.task.toml_places import Place, dotted, key_places

_ADVICE = {LintRule.SHARED_VERIFIER, LintRule.ROOT_AGENT, LintRule.UNPINNED_IMAGE}
"""Rules that most sound tasks break."""


def lint_problems(task: LoadedTask) -> Iterator[Problem]:
    """The findings of `harbor lint`; none of them keeps a task that loads from running."""
    try:
        rules = _selected_rules(task.path)
        findings = lint_task(task.path, selected_rules=rules)
        text = (task.path / TaskPaths.CONFIG_FILENAME).read_text("utf-8")
    except Exception as error:  # lint reads every file, and stops at one that is not UTF-8 or unreadable
        yield Problem(".", "lint-stopped", "info", f"harbor lint stops at this task: {shown(str(error))}")
        return
    places = {dotted(path): place for path, place in key_places(text).items()}
    for finding in findings:
        # What keeps a task from loading is told by `load`, with its place.
        if finding.rule != LintRule.INVALID_TASK_CONFIG:
            yield _problem(task.path, finding, places)


def _problem(root: Path, finding: LintFinding, places: Mapping[str, Place]) -> Problem:
    path = Path(finding.path)
    path = path.relative_to(root) if path.is_relative_to(root) else path
    severity: Severity = "info" if finding.rule in _ADVICE else "warning"
    line, column = finding.line, finding.column
    message, _, hint = finding.message.partition("; ")
    if unknown := re.match(r"Unknown field '(.*)'; .*?(?:Did you mean '(.*)'\?)?$", finding.message):
        field = unknown[1]
        message = f"unknown field {field}, which Harbor ignores"
        hint = f"did you mean {unknown[2]}?" if unknown[2] else "remove or correct it"
    else:
        field = finding.message.partition(":")[0]
    if line is None and path.name == TaskPaths.CONFIG_FILENAME and field in places:
        line, column = places[field]
    return Problem(shown(path), finding.rule.value, severity, shown(message), shown(hint), line, column)


def _selected_rules(root: Path) -> set[LintRule]:
    """As `harbor lint` selects them: the defaults, the nearest dataset's changes, the task's."""
    rules = set(DEFAULT_RULES)
    manifests = (parent / DatasetPaths.MANIFEST_FILENAME for parent in root.parents)
    if manifest := next((path for path in manifests if path.is_file()), None):
        rules = _lint_config(manifest).apply(rules)
    return _lint_config(root / TaskPaths.CONFIG_FILENAME).apply(rules)


def _lint_config(file: Path) -> LintConfig:
    tables = tomllib.loads(file.read_text("utf-8"))
    for key in ("metadata", "harbor", "lint"):
        tables = tables.get(key, {})
    return LintConfig.model_validate(tables)
