"""Whole frames to begin with: one of every kind of message, filled by its types; those of a real training."""

import random
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import msgspec

from perftui.ipc import codec
from perftui.ipc.dashboard_messages import FromDashboard, Pull, ToDashboard
from perftui.ipc.messages import PROTOCOL_VERSION, FromRank, Hello, ToRank
from perftui.ipc.recording import read_recording

from .mutation import other_numbers, wrong_bytes, wrong_words

_HEAD = len(b"perftui recording 1\n")
CORPUS = Path(__file__).parent / "corpus"
RUN_ID = "fuzzed"
_NAMED: dict[str, Any] = {
    "run_id": RUN_ID,
    "protocol": PROTOCOL_VERSION,
    "command_id": "c1",
    "window_id": "w1",
    "path": "rank0_step5_n3_w1.pt.trace.json.gz",
    "snapshot": "rank0_step5_n3_w1.memory.pickle",
    "directory": "/tmp/profiles",
    "rank": 0,
}


def example(kind: Any, name: str = "") -> Any:  # noqa: ANN401 (a value of any type)
    """Return a value of a type, as msgspec describes it: the same one each time."""
    info = kind if isinstance(kind, msgspec.inspect.Type) else msgspec.inspect.type_info(kind)
    inspect = msgspec.inspect
    match info:
        case inspect.IntType():
            return _NAMED.get(name, 3)
        case inspect.FloatType():
            return 0.5
        case inspect.StrType():
            return _NAMED.get(name, "text")
        case inspect.BoolType():
            return True
        case inspect.NoneType() | inspect.AnyType():
            return None
        case inspect.LiteralType(values):
            return values[0]
        case inspect.UnionType(types):
            rest = [each for each in types if not isinstance(each, inspect.NoneType)]
            return example(rest[0], name)
        case inspect.DictType(key_type=key, value_type=value):
            return {example(key): example(value)}
        case inspect.ListType(item_type=item):
            return [example(item), example(item)]
        case inspect.TupleType(item_types=items):
            return tuple(example(item) for item in items)
        case inspect.StructType(cls=cls, fields=fields) | inspect.DataclassType(cls=cls, fields=fields):
            return cls(**{field.name: example(field.type, field.name) for field in fields})
        case _:
            raise AssertionError(f"no example of {info}")


def made(union: Any) -> list[bytes]:  # noqa: ANN401 (a union of messages)
    """Return a frame of each message of a union."""
    return [codec.encode(example(kind)) for kind in get_args(union)]


def recorded() -> list[bytes]:
    """Return the frames of ranks in a recording of a real training, by the name of the run that is fuzzed."""
    messages = [entry.message for entry in read_recording(CORPUS / "recording")]
    return [
        codec.encode(msgspec.structs.replace(message, run_id=RUN_ID))
        for message in messages
        if message is not None
    ]


def segments() -> list[bytes]:
    """Return the segments of that recording."""
    return [path.read_bytes() for path in sorted((CORPUS / "recording").glob("*.rec"))]


def wrong_segment(draw: random.Random, segment: bytes, others: Sequence[bytes]) -> bytes:
    """Return a segment with some of its entries wrong, lengths right; or with its bytes wrong."""
    if draw.random() < 0.3:
        return wrong_bytes(draw, segment, others)
    made, at = bytearray(segment[:_HEAD]), _HEAD
    while at + 4 <= len(segment):
        (length,) = struct.unpack_from("<I", segment, at)
        body, at = segment[at + 4 : at + 4 + length], at + 4 + length
        if draw.random() < 0.1:
            body = other_numbers(draw, body) if draw.random() < 0.7 else wrong_words(draw, body)
        made += struct.pack("<I", len(body)) + body
    return bytes(made)


def hello(rank: int, pid: int, start_ticks: int) -> bytes:
    """Return the greeting of a rank."""
    told = msgspec.structs.replace(
        example(Hello), rank=rank, pid=pid, start_ticks=start_ticks, seq=0, host="h", world_size=2
    )
    return codec.encode(told)


FROM_RANK, TO_RANK = made(FromRank), made(ToRank)
FROM_DASHBOARD, TO_DASHBOARD = made(FromDashboard), made(ToDashboard)
PULL = codec.encode(Pull(protocol=PROTOCOL_VERSION))
