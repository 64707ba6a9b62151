"""Source text as output with colours: Pygments finds the parts, the theme's sixteen colours draw them."""

from __future__ import annotations

from itertools import groupby
from pathlib import PurePosixPath
from typing import Any

LARGEST = 256 * 1024
"""Characters; longer text is shown without colours."""

_RESET = "\x1b[0m"


def highlighted(text: str, name: str) -> str:
    """Text with SGR sequences, by what its file's name and first line say it is; as it was if unknown."""
    if len(text) > LARGEST or "\x1b" in text:
        return text
    from pygments.lexers import (  # type: ignore[import-untyped]
        get_lexer_for_filename,
        guess_lexer,
    )
    from pygments.token import (  # type: ignore[import-untyped]
        Comment,
        Error,
        Generic,
        Keyword,
        Literal,
        Name,
        Number,
        String,
        Token,
    )
    from pygments.util import ClassNotFound  # type: ignore[import-untyped]

    colors = {
        Comment: "2",
        Keyword: "35",
        Name.Function: "34",
        Name.Class: "34",
        Name.Builtin: "36",
        Name.Variable: "36",
        Name.Tag: "34",
        Name.Attribute: "36",
        String: "32",
        Number: "33",
        Literal: "33",
        Generic.Deleted: "31",
        Generic.Inserted: "32",
        Generic.Heading: "1;34",
        Generic.Subheading: "35",
        Generic.Emph: "3",
        Generic.Strong: "1",
        Error: "31",
    }

    def color(token: Any) -> str:
        while token not in colors and token is not Token:
            token = token.parent
        return colors.get(token, "")

    try:
        if text.startswith("#!"):
            lexer = guess_lexer(text[:1000])
        else:
            lexer = get_lexer_for_filename(PurePosixPath(name).name)
    except ClassNotFound:
        return text
    lexer.stripnl = lexer.ensurenl = lexer.stripall = False
    parts = []
    for code, tokens in groupby(lexer.get_tokens(text), key=lambda token: color(token[0])):
        value = "".join(value for _, value in tokens)
        body = value.rstrip("\n")
        parts.append(f"\x1b[{code}m{body}{_RESET}{value[len(body) :]}" if code and body else value)
    return "".join(parts)
