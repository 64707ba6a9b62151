"""Every key of a TOML document has a place, and it is where the key stands."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
import tomlkit
from hypothesis import given
from hypothesis import strategies as st

from workbench.task.toml_places import KeyPath, Place, deepest, dotted, key_places, syntax_error_place

DOCUMENT = '''\
a = 1
"b c".d = { x = [1, {y = "a=b#]"}], z = 2 }

[environment]  # machines
memory_mb = 5
text = """
[not.a.table]
x = 1
"""

[[steps]]
name = "one"
[steps.agent]
timeout_sec = 1.5

[[steps]]
name = 'two'
artifacts = [
  # first
  "/a",
  { source = "/b" },
]
[steps.verifier]
started = 1979-05-27 07:32:00
'''


def test_each_kind_of_key_is_found_where_it_stands() -> None:
    places = key_places(DOCUMENT)
    assert places["a",] == Place(1, 1)
    assert places["b c", "d", "x", 1, "y"] == Place(2, 22)
    assert places["b c", "d", "z"] == Place(2, 37)
    assert places["environment", "memory_mb"] == Place(5, 1)
    assert places["environment", "text"] == Place(6, 1)
    assert ("not",) not in places
    assert places["steps", 0, "agent", "timeout_sec"] == Place(14, 1)
    assert places["steps", 1] == Place(16, 1)
    assert places["steps", 1, "artifacts", 0] == Place(20, 3)
    assert places["steps", 1, "artifacts", 1, "source"] == Place(21, 5)
    assert places["steps", 1, "verifier", "started"] == Place(24, 1)


def test_windows_line_ends_move_nothing() -> None:
    assert key_places(DOCUMENT.replace("\n", "\r\n")) == key_places(DOCUMENT)


def test_what_stands_before_a_fault_is_found() -> None:
    assert key_places("a = 1\nb = = 2\n") == {("a",): Place(1, 1), ("b",): Place(2, 1)}


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("a = 1\nb = \n", Place(2, 5)),
        ("[a\n", Place(1, 3)),
        ('a = "x', Place(1, 7)),
        ("a = 1\na = 2\n", Place(2, 6)),
        ("a = [1,\n2\n", Place(2, 2)),
    ],
)
def test_a_syntax_error_has_a_place(text: str, place: Place) -> None:
    with pytest.raises(tomllib.TOMLDecodeError) as caught:
        tomllib.loads(text)
    assert syntax_error_place(caught.value, text) == place


def test_parts_that_the_document_lacks_are_passed_over() -> None:
    places = key_places(DOCUMENT)
    path = deepest(places, ("steps", 1, "artifacts", 1, "ArtifactConfig", "source"))
    assert path == ("steps", 1, "artifacts", 1, "source")
    assert deepest(places, ("agent", "timeout_sec")) == ()
    assert dotted(path) == "steps[1].artifacts[1].source"


keys = st.text("abcXYZ_-09 .é#[]\"'=", min_size=1, max_size=6)
values = st.recursive(
    st.integers()
    | st.booleans()
    | st.floats(allow_nan=False)
    | st.text("ab\n\"'#=[]{}\\é", max_size=8)
    | st.dates(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(keys, values, max_size=5))
def test_all_that_tomllib_reads_has_a_place(tables: dict[str, Any]) -> None:
    text = tomlkit.dumps(tables)
    lines = text.split("\n")
    places = key_places(text)
    for path in paths_of(tomllib.loads(text)):
        place = places[path]
        assert 1 <= place.line <= len(lines)
        assert 1 <= place.column <= len(lines[place.line - 1])


def paths_of(value: Any, path: KeyPath = ()) -> list[KeyPath]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found: list[KeyPath] = [path] if path else []
    for key, inner in items:
        found += paths_of(inner, (*path, key))
    return found
