"""Makes JSON of what some writers take for JSON: NaN and N/A as numbers, raw bytes and breaks in strings."""

import re

_STRING_OR_WORD = re.compile(
    rb'"(?:[^"\\]|\\.)*"|-?\b(?:NaN|nan|Infinity|inf|N/A)(?=\s*[,}\]])',
    re.DOTALL,
)
_ESCAPED = re.compile(rb"\\.", re.DOTALL)
_CONTROL = re.compile(rb"[\x00-\x1f]")


def mended(text: bytes) -> bytes:
    """Return the text with words for missing numbers as null, and strings without what JSON forbids."""
    if not text.isascii():
        text = text.decode("utf-8", "replace").encode()
    return _STRING_OR_WORD.sub(_replacement, text)


def _replacement(found: "re.Match[bytes]") -> bytes:
    word = found.group()
    if not word.startswith(b'"'):
        return b"null"
    if b"\\" in word:
        word = _ESCAPED.sub(_escape, word)
    return _CONTROL.sub(b" ", word)


def _escape(found: "re.Match[bytes]") -> bytes:
    pair = found.group()
    return pair if pair[1:] in b'"\\/bfnrtu' else b"\\" + pair
