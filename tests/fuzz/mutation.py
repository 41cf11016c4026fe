"""Frames made wrong: in their bytes, and in what they say, with the MessagePack whole."""

import random
from collections.abc import Sequence
from typing import Any, cast

import msgspec

ODD: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 7, 2**31, -(2**31), 2**53, 2**53 + 1, 2**62, 2**63 - 1, -(2**63), 2**64 - 1,
    0.0, -0.0, 1.5, -1e9, 1e300, -1e300, 5e-324, float("inf"), float("-inf"), float("nan"),
    "", "x", "../../../etc/passwd", "/etc/passwd", "..", "a/b", "a\0b", "\x1b]0;owned\x07", "\x9b31m",
    "\u202etxt",
    "[bold]x[/]", "<b>", "$(id)", "`id`", "; id", "%s%n", "\n", "é" * 40, "A" * 9000, "nan", "1e999",
    b"", b"\xff\xfe", [], [[]], [0] * 300, {}, {"": ""}, {"a": {"b": {"c": []}}}, [None], ["x", 1], {"1": 1},
    "stop", "relaunch", "pull", "hello", "steps", "profile", "cancel_relaunch",
)  # fmt: skip
"""Borders of numbers, texts that steer or lead elsewhere, and containers where none is expected."""


def wrong_bytes(draw: random.Random, frame: bytes, others: Sequence[bytes]) -> bytes:
    """Return a frame with some bytes changed, lost, put in, doubled, or taken from another frame."""
    made = bytearray(frame)
    for _ in range(draw.randint(1, 4)):
        place = draw.randrange(len(made) + 1)
        match draw.randrange(7):
            case 0 if made:
                made[place % len(made)] = draw.randrange(256)
            case 1 if made:
                made[place % len(made)] ^= 1 << draw.randrange(8)
            case 2:
                del made[place:]
            case 3:
                made[place:place] = draw.randbytes(draw.randint(1, 8))
            case 4:
                del made[place : place + draw.randint(1, 8)]
            case 5:
                made[place:place] = made[place : place + draw.randint(1, 64)]
            case _:
                other = draw.choice(others)
                made[place:] = other[draw.randrange(len(other) + 1) :]
    return bytes(made)


def wrong_words(draw: random.Random, frame: bytes) -> bytes:
    """Return a frame that is MessagePack still, and says something else in one to three places."""
    try:
        said = msgspec.msgpack.decode(frame)
    except (msgspec.DecodeError, RecursionError):
        return frame
    for _ in range(draw.randint(1, 3)):
        said = altered(draw, said)
    try:
        return msgspec.msgpack.encode(said)
    except (OverflowError, TypeError, RecursionError):
        return frame


def altered(draw: random.Random, value: Any) -> Any:  # noqa: ANN401 (whatever a frame holds)
    """Return a value with one place in it changed."""
    if isinstance(value, dict) and value and draw.random() < 0.9:
        return _altered_map(draw, dict(cast("dict[object, Any]", value)))
    if isinstance(value, list) and value and draw.random() < 0.9:
        return _altered_list(draw, list(cast("Sequence[Any]", value)))
    if isinstance(value, int) and not isinstance(value, bool) and draw.random() < 0.3:
        return max(
            -(2**63), min(2**64 - 1, draw.choice((value + 1, value - 1, -value, value << 8, value >> 1)))
        )
    if isinstance(value, str) and draw.random() < 0.3:
        return draw.choice(
            (value * 2, value[: len(value) // 2], value + draw.choice("\0\x1b/.\n é"), value.upper())
        )
    return draw.choice(ODD)


def _altered_map(draw: random.Random, said: dict[Any, Any]) -> dict[Any, Any]:
    key = draw.choice(list(said))
    match draw.randrange(10):
        case 0:
            del said[key]
        case 1:
            said[draw.choice(("later", "kind", "run_id", "", "é", "facts"))] = draw.choice(ODD)
        case 2:
            said[key] = said[draw.choice(list(said))]
        case 3:
            said[key] = [said[key]] * draw.randint(0, 3)
        case _:
            said[key] = altered(draw, said[key])
    return said


def _altered_list(draw: random.Random, said: list[Any]) -> list[Any]:
    place = draw.randrange(len(said))
    match draw.randrange(6):
        case 0:
            del said[place]
        case 1:
            said[place:place] = said[place : place + draw.randint(1, 5)]
        case 2:
            said = said * draw.choice((0, 2, 9))
        case _:
            said[place] = altered(draw, said[place])
    return said


_WHOLE = (0, 1, -1, 2, 3, 9, 10, 11, 4096, 10**6, 10**9, 2**31, 2**53, -(2**53), 2**62)
_REAL = (0.0, 1.0, -1.0, 1e-9, 0.999, 100.0, 1e6, 1e12, 1e15, -1e15, 5e-324)


def other_numbers(draw: random.Random, frame: bytes) -> bytes:
    """Return a frame with some of its numbers others of the same type: most are calculated with."""
    share = draw.choice((0.02, 0.1, 0.5))

    def renumbered(value: Any, name: str = "") -> Any:  # noqa: ANN401 (whatever a frame holds)
        if isinstance(value, dict):
            items = cast("dict[object, Any]", value).items()
            return {key: renumbered(inner, str(key)) for key, inner in items}
        if isinstance(value, list):
            return [renumbered(inner, name) for inner in cast("Sequence[Any]", value)]
        if isinstance(value, bool) or name in ("rank", "seq", "protocol") or draw.random() > share:
            return value
        if isinstance(value, int):
            return draw.choice((*_WHOLE, value + 1, value - 1, value * 2, value // 2, draw.randint(0, 20)))
        return draw.choice((*_REAL, value * 2, value / 3)) if isinstance(value, float) else value

    try:
        return msgspec.msgpack.encode(renumbered(msgspec.msgpack.decode(frame)))
    except (msgspec.DecodeError, OverflowError, RecursionError):
        return frame


def nested(depth: int) -> bytes:
    """Return a frame whose value is nested deeply."""
    return b"\x82\xa4kind\xa4pull\xa5later" + b"\x91" * depth + b"\xc0"


def wrong(draw: random.Random, frame: bytes, others: Sequence[bytes]) -> bytes:
    """Return a frame made wrong in one of the ways; now and then one that is very deep or very long."""
    chance = draw.random()
    if chance < 0.25:
        return other_numbers(draw, frame)
    if chance < 0.65:
        return wrong_words(draw, frame)
    if chance < 0.95:
        return wrong_bytes(draw, frame, others)
    if chance < 0.96:
        return nested(draw.choice((10, 200, 5000)))
    if chance < 0.97:
        return wrong_bytes(draw, wrong_words(draw, frame), others)
    return frame if chance < 0.98 else draw.randbytes(draw.randint(0, 200))
