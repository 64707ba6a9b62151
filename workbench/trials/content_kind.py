"""What a file holds, by its first bytes."""

from __future__ import annotations

SNIFFED = 8192
"""Bytes that are enough to tell."""

_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "PNG image"),
    (b"\xff\xd8\xff", "JPEG image"),
    (b"GIF8", "GIF image"),
    (b"RIFF", "RIFF media"),
    (b"\x7fELF", "ELF program"),
    (b"PK\x03\x04", "zip archive"),
    (b"\x1f\x8b", "gzip archive"),
    (b"(\xb5/\xfd", "zstd archive"),
    (b"SQLite format 3", "SQLite database"),
    (b"%PDF", "PDF document"),
)


_BITMAP_ZEROS = slice(6, 10)
"""Bytes of a BMP that are reserved: its magic alone is how many a text begins."""


def content_kind(start: bytes) -> str:
    """Such as "PNG image"; "text" or "binary data" where nothing better is known."""
    if start.startswith(b"BM") and start[_BITMAP_ZEROS] == bytes(4):
        return "BMP image"
    if start.startswith(b"RIFF") and start[8:12] == b"WEBP":
        return "WebP image"
    if found := next((what for magic, what in _MAGIC if start.startswith(magic)), ""):
        return found
    return "binary data" if b"\0" in start[:SNIFFED] else "text"
