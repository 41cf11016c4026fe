"""Frames: every message survives the trip, and no frame, however damaged, does worse than a ProtocolError."""

import random
from collections.abc import Callable
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perftui.ipc import codec
from perftui.ipc.dashboard_messages import Done, FromDashboard, Pull, ToDashboard
from perftui.ipc.errors import ProtocolError
from perftui.ipc.messages import PROTOCOL_VERSION, FromRank, Goodbye, StepBatch, ToRank
from perftui.ipc.step_record import StepRecord
from tests.fuzz.seeds import example

DECODERS: dict[Any, Callable[[bytes], Any]] = {
    FromRank: codec.decode_from_rank,
    ToRank: codec.decode_to_rank,
    FromDashboard: codec.decode_from_dashboard,
    ToDashboard: codec.decode_to_dashboard,
}
KINDS = [(kind, decode) for union, decode in DECODERS.items() for kind in get_args(union)]
WHOLE = st.integers(-(2**63), 2**64 - 1)
NUMBERS = st.floats(allow_nan=False)


def _values(info: msgspec.inspect.Type) -> "st.SearchStrategy[Any]":
    """Values of any type that the messages are made of."""
    inspect = msgspec.inspect
    simple: dict[type, st.SearchStrategy[Any]] = {
        inspect.IntType: WHOLE,
        inspect.FloatType: NUMBERS,
        inspect.StrType: st.text(max_size=8),
        inspect.BoolType: st.booleans(),
        inspect.NoneType: st.none(),
    }
    if type(info) in simple:
        return simple[type(info)]
    if isinstance(info, inspect.LiteralType):
        return st.sampled_from(info.values)
    if isinstance(info, inspect.UnionType):
        return st.one_of([_values(member) for member in info.types])
    if isinstance(info, inspect.DictType):
        return st.dictionaries(st.text(max_size=4), _values(info.value_type), max_size=2)
    if isinstance(info, inspect.ListType):
        return st.lists(_values(info.item_type), max_size=2)
    if isinstance(info, inspect.TupleType):
        return st.tuples(*[_values(member) for member in info.item_types])
    if isinstance(info, inspect.StructType):
        return st.builds(info.cls, **{field.name: _values(field.type) for field in info.fields})
    raise AssertionError(f"no values for {info}")


@pytest.mark.parametrize(("kind", "decode"), KINDS, ids=lambda value: getattr(value, "__name__", None))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(data=st.data())
def test_every_message_survives_the_trip(
    kind: type[msgspec.Struct], decode: Callable[[bytes], Any], data: st.DataObject
) -> None:
    message = data.draw(_values(msgspec.inspect.type_info(kind)))
    frame = codec.encode(message)
    if _is_refused(decode, frame):  # by what it says, then, and not by its form
        assert msgspec.msgpack.Decoder(kind).decode(frame) == message
    else:
        assert decode(frame) == message
    whole = example(kind)
    assert decode(codec.encode(whole)) == whole


def test_a_frame_names_its_kind_and_no_class() -> None:
    frame = codec.encode(Pull(protocol=PROTOCOL_VERSION))
    assert msgspec.msgpack.decode(frame)["kind"] == "pull"
    assert b"Pull" not in frame


def test_unknown_kind_names_this_protocol_and_the_way_out() -> None:
    frame = msgspec.msgpack.encode({"kind": "dance", "run_id": "r", "host": "h", "rank": 0, "seq": 0})
    with pytest.raises(ProtocolError, match=rf"dance.*protocol {PROTOCOL_VERSION}.*same perftui version"):
        codec.decode_from_rank(frame)


def test_a_field_of_the_wrong_type_is_named() -> None:
    frame = msgspec.msgpack.encode({"kind": "pull", "protocol": "1"})
    with pytest.raises(ProtocolError, match=r"\$\.protocol"):
        codec.decode_from_dashboard(frame)


def test_fields_of_a_later_version_are_passed_over() -> None:
    frame = msgspec.msgpack.encode(
        {"kind": "pull", "protocol": PROTOCOL_VERSION, "since": 4, "later": [1, 2]}
    )
    assert codec.decode_from_dashboard(frame) == Pull(protocol=PROTOCOL_VERSION, since=4)


def test_a_long_frame_is_refused_unread() -> None:
    with pytest.raises(ProtocolError, match="limit"):
        codec.decode_from_rank(bytes(codec.MAX_FRAME_BYTES + 1))


def test_deep_nesting_is_a_protocol_error() -> None:
    frame = b"\x82\xa4kind\xa4done\xa7profile" + b"\x91" * 100_000 + b"\xc0"
    with pytest.raises(ProtocolError):
        codec.decode_to_dashboard(frame)


def test_a_message_for_the_other_side_is_not_taken() -> None:
    frame = codec.encode(Done(command_id="c", ok=True))
    for decode in (codec.decode_from_rank, codec.decode_to_rank, codec.decode_from_dashboard):
        with pytest.raises(ProtocolError):
            decode(frame)


def _frames() -> list[bytes]:
    head: dict[str, Any] = {"run_id": "r", "host": "h", "rank": 0, "seq": 0}
    columns: dict[str, Any] = {
        name: [1, -2, 3 << 40]
        for name in StepBatch.__struct_fields__
        if name not in (*head, "first_step", "dropped", "probe_ns", "hook_ns", "hook_steps")
    }
    return [
        codec.encode(StepBatch(**head, first_step=0, **columns)),
        codec.encode(Goodbye(**head, reason="exit", dropped=0, errors=0)),
        codec.encode(Pull(protocol=PROTOCOL_VERSION, since=3)),
        codec.encode(Done(command_id="abc", ok=True, result="text")),
    ]


def test_damaged_frames_never_do_worse_than_a_protocol_error() -> None:
    source = random.Random(20)
    frames = _frames()
    refused = 0
    for _ in range(20_000):
        frame = bytearray(source.choice(frames))
        for _ in range(source.randint(1, 4)):
            place = source.randrange(len(frame))
            match source.randrange(3):
                case 0:
                    frame[place] = source.randrange(256)
                case 1:
                    del frame[place:]
                    frame.append(source.randrange(256))
                case _:
                    frame[place:place] = source.randbytes(source.randint(1, 8))
        refused += sum(_is_refused(decode, bytes(frame)) for decode in DECODERS.values())
    assert refused > 60_000


def _is_refused(decode: Callable[[bytes], object], frame: bytes) -> bool:
    try:
        decode(frame)
    except ProtocolError:
        return True
    return False


def test_a_row_of_steps_has_the_columns_of_a_frame_in_their_order() -> None:
    columns = [field.name for field in msgspec.structs.fields(StepBatch) if field.type == list[int]]
    assert StepRecord._fields == ("step", *columns)
