"""Text that is only told: what is no UTF-8 in it gets a mark, so that it can be written and sent.

Python keeps a byte of an argument, a path or a variable that is no UTF-8 as a lone surrogate (PEP 383). It
comes back as it was where the text goes to the system again, but neither MessagePack nor JSON takes it.
Standard library alone, until something is to be marked.
"""

import re
from collections.abc import Callable
from typing import Any, TypeAlias

_SURROGATE = re.compile("[\ud800-\udfff]")
_MARK = "\ufffd"

Plain: TypeAlias = Any
"""Of what `msgspec.to_builtins` makes: dicts, lists, texts and numbers."""


def told(text: str) -> str:
    """Return text that UTF-8 can say, of the same length."""
    return _SURROGATE.sub(_MARK, text)


def is_utf8(text: str) -> bool:
    """Whether UTF-8 can say this text."""
    return _SURROGATE.search(text) is None


def is_exact(text: str) -> bool:
    """Whether a text says what it stands for: no mark has replaced, or would replace, any of it."""
    return is_utf8(text) and _MARK not in text


def encoded(encode: Callable[[object], bytes], value: object) -> bytes:
    """Return what `encode` of msgspec makes of a value, with marks where it refuses what is no UTF-8."""
    try:
        return encode(value)
    except UnicodeEncodeError:
        import msgspec

        return encode(_told(msgspec.to_builtins(value, builtin_types=(bytes,))))


def _told(value: Plain) -> Plain:
    if isinstance(value, str):
        return told(value)
    if isinstance(value, dict):
        return {_told(key): _told(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_told(each) for each in value]
    return value
