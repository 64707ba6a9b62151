"""Text from outside, made harmless to look at.

Names, reasons and output come from tasks that may be broken or hostile. A control character that
reached the terminal would be obeyed by it, so each is shown by a sign instead.
"""

from __future__ import annotations

_PICTURES = {code: chr(0x2400 + code) for code in range(0x20)}
_PICTURES[0x7F] = "␡"
_PICTURES |= {code: f"\\x{code:02x}" for code in range(0x80, 0xA0)}
# Characters that turn or hide the text around them: bidirectional controls, joiners, line separators.
_PICTURES |= {
    code: f"<U+{code:04X}>"
    for code in (
        *(0x61C, 0x200B, 0x200E, 0x200F, 0x2028, 0x2029),
        *range(0x202A, 0x202F),
        *(0x2060, *range(0x2066, 0x206A), 0xFEFF),
    )
}
# What JSON can carry and no terminal encoding can.
_PICTURES |= dict.fromkeys(range(55296, 57344), "�")


def visible(text: str) -> str:
    """`text` with every character that a terminal would obey shown as a sign."""
    return text if text.isascii() and text.isprintable() else text.translate(_PICTURES)


def one_line(text: str) -> str:
    """`text` made visible, with line breaks and runs of blanks drawn together."""
    return visible(" ".join(text.split()))
