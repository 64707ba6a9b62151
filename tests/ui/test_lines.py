"""Lines of any number, live and from files."""

from __future__ import annotations

from collections import deque
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.ui.lines import BLOCK, LINE_LIMIT, FileLines, Lines, LiveLines


def live(*pieces: str, limit: int = 1 << 30) -> LiveLines:
    lines = LiveLines(limit)
    for piece in pieces:
        lines.append(piece)
    return lines


def from_file(path: Path, data: bytes) -> FileLines:
    path.write_bytes(data)
    lines = FileLines(path)
    for _ in lines.scan():
        pass
    return lines


def everything(lines: Lines) -> list[str]:
    return [lines[number] for number in range(len(lines))]


def test_pieces_need_not_end_at_a_lines_end() -> None:
    assert everything(live("one\ntw", "o\n", "three")) == ["one", "two", "three"]


def test_an_empty_line_is_a_line_and_a_final_break_begins_none() -> None:
    assert everything(live("\n\na\n")) == ["", "", "a"]


def test_windows_line_ends_are_line_ends_also_across_pieces() -> None:
    assert everything(live("a\r", "\nb\r\nc")) == ["a", "b", "c"]


def test_what_a_carriage_return_overwrote_is_kept() -> None:
    assert everything(live("10%\r50%\r100%\ndone\r", "!\n")) == ["10%␍", "50%␍", "100%", "done␍", "!"]


def test_an_endless_line_is_broken_with_a_sign() -> None:
    lines = live("x" * LINE_LIMIT, "y" * 10, "\nz\n")
    assert everything(lines) == ["x" * LINE_LIMIT + "↩", "y" * 10, "z"]


def test_the_oldest_lines_are_dropped_beyond_the_limit_and_counted() -> None:
    lines = live(*(f"line {number}\n" for number in range(100_000)), limit=4 * BLOCK)
    assert lines.dropped + len(lines) == 100_000
    assert lines[0] == f"line {lines.dropped}"
    assert lines[len(lines) - 1] == "line 99999"
    assert len(lines) * 11 <= 4 * BLOCK


def test_a_number_beyond_the_last_line_is_an_index_error() -> None:
    with pytest.raises(IndexError):
        live("a\n")[1]


@given(st.lists(st.text(alphabet="ab\r\n", max_size=12), max_size=12))
def test_pieces_make_the_lines_that_the_whole_text_makes(pieces: list[str]) -> None:
    text = "".join(pieces)
    expected = text.removesuffix("\r").replace("\r\n", "\n").replace("\r", "␍\n").split("\n")
    assert everything(live(*pieces)) == (expected[:-1] if expected[-1] == "" else expected)


def test_a_file_has_the_lines_that_its_text_has_live(tmp_path: Path) -> None:
    text = "".join(f"{number} é 中 {'x' * (number % 97)}\n" for number in range(20_000)) + "no end"
    lines = from_file(tmp_path / "log", text.encode())
    assert lines.blocks > 10
    assert everything(lines) == everything(live(text)) == text.split("\n")


def test_a_file_of_one_endless_line_is_broken_between_characters(tmp_path: Path) -> None:
    lines = from_file(tmp_path / "log", ("é" * 100_000).encode())
    assert "".join(everything(lines)).replace("↩", "") == "é" * 100_000


def test_a_file_that_is_not_utf8_is_shown_all_the_same(tmp_path: Path) -> None:
    assert everything(from_file(tmp_path / "log", b"\xff\xfe ok\n")) == ["�� ok"]


def test_several_files_are_read_one_after_the_other(tmp_path: Path) -> None:
    texts = ["a\nb", "", "c\n" * BLOCK, "d\n"]
    paths = [tmp_path / str(number) for number in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)
    lines = FileLines(*paths)
    deque(lines.scan(), maxlen=0)
    assert everything(lines) == ["a", "b", *["c"] * BLOCK, "d"]
    lines.close()


def test_files_that_were_let_go_of_read_as_empty_lines(tmp_path: Path) -> None:
    lines = from_file(tmp_path / "log", b"a\nb\n")
    lines.close()
    with (tmp_path / "another").open("w+b") as another:
        another.write(b"c\nd\n")
        another.flush()
        assert everything(lines) == ["", ""]
        assert list(lines.scan()) == []


def test_an_empty_file_has_no_lines(tmp_path: Path) -> None:
    assert everything(from_file(tmp_path / "log", b"")) == []


def test_a_file_that_shrank_reads_as_empty_lines(tmp_path: Path) -> None:
    lines = from_file(tmp_path / "log", b"a\nb\nc\n")
    (tmp_path / "log").write_bytes(b"a\n")
    assert everything(lines) == ["a", "", ""]
