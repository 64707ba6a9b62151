"""task.toml read through Harbor's model, or what is wrong with it and where."""

from __future__ import annotations

import re
import tomllib
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

from harbor.models.task.config import TaskConfig
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from workbench.task.marked import CONFIG
from workbench.task.problem import Problem
from workbench.task.text import BOM, read_text
from workbench.task.toml_places import KeyPath, Place, deepest, dotted, key_places, syntax_error_place


def read_config(root: Path) -> tuple[TaskConfig | None, list[Problem]]:
    """The settings of the task at `root`, None where Harbor would refuse them, and their problems."""
    text = read_text(root / CONFIG, CONFIG)
    if isinstance(text, Problem):
        return None, [text]
    if text.startswith(BOM):
        message = "the file starts with a byte-order mark, which TOML does not allow"
        return None, [
            Problem(CONFIG, "byte-order-mark", "error", message, "save it as UTF-8 without BOM", 1, 1)
        ]
    problems: list[Problem] = []
    try:
        with warnings.catch_warnings(record=True) as deprecations:
            warnings.simplefilter("always", DeprecationWarning)
            config = TaskConfig.model_validate_toml(text)
    except tomllib.TOMLDecodeError as error:
        message = "not TOML: " + re.sub(r" \(at .*\)$", "", str(error)).lower()
        return None, [Problem(CONFIG, "toml-syntax", "error", message, "", *syntax_error_place(error, text))]
    except ValidationError as error:
        return None, _invalid_fields(error, key_places(text))
    except Exception as error:  # Harbor's validators raise what pydantic does not wrap, such as OverflowError
        message = f"Harbor cannot read it: {type(error).__name__}: {error}"
        return None, [Problem(CONFIG, "invalid-config", "error", message)]
    for deprecation in deprecations:
        if found := re.match(r"The '(\w+)' field is deprecated", message := str(deprecation.message)):
            place = _place_of_field(key_places(text), found[1])
            problems.append(Problem(CONFIG, "deprecated-field", "info", message, "", *place))
    return config, problems


def _place_of_field(places: Mapping[KeyPath, Place], field: str) -> Place | tuple[None, None]:
    return next((place for path, place in places.items() if path[-1] == field), (None, None))


def _invalid_fields(error: ValidationError, places: Mapping[KeyPath, Place]) -> list[Problem]:
    """One problem for each field: when all members of a union fail, they are alternatives of one fault."""
    faults: dict[KeyPath, list[ErrorDetails]] = {}
    for detail in error.errors(include_url=False):
        field = deepest(places, detail["loc"])
        if detail["type"] == "missing":
            field = (*field, detail["loc"][-1])
        faults.setdefault(field, []).append(detail)
    problems = []
    for field, alternatives in faults.items():
        if any(other[: len(field)] == field for other in faults if len(other) > len(field)):
            continue  # the member of the union that the author meant is wrong further down
        message = f"{dotted(field)}: " * bool(field) + _fault(alternatives)
        place = places.get(deepest(places, field), (None, None))
        problems.append(Problem(CONFIG, "invalid-config", "error", message, "", *place))
    return sorted(problems, key=lambda problem: (problem.line or 0, problem.column or 0))


_PLAIN_WORDS = {
    r"^Value error, ": "",
    r"^Input should be ": "should be ",
    r"a valid dictionary( or instance of \w+)?": "a table",
    r"a valid (string|list)": r"a \1",
    r"a valid integer.*": "a whole number",
    r"a valid number.*": "a number",
}


def _fault(alternatives: Sequence[ErrorDetails]) -> str:
    if alternatives[0]["type"] == "missing":
        return "required, but not given"
    message = " or ".join(dict.fromkeys(_plain(detail["msg"]) for detail in alternatives))
    message = message.replace(" or should be ", " or ")
    value = alternatives[0]["input"]
    if message.startswith("should be") and isinstance(value, str | int | float) and len(repr(value)) < 60:
        return f"{message}, not {value!r}"
    return message


def _plain(message: str) -> str:
    for pattern, words in _PLAIN_WORDS.items():
        message = re.sub(pattern, words, message)
    return message
