"""What is no UTF-8 is told with a mark wherever it is written or sent, and stops nothing."""

from pathlib import Path

import msgspec
import pytest

from perftui.ipc.audit import note, read_audit, this_process
from perftui.ipc.codec import decode_from_dashboard, decode_from_host, decode_from_rank, encode
from perftui.ipc.dashboard_messages import ProfileCommand
from perftui.ipc.host_messages import TracePart
from perftui.ipc.messages import BLANK, Effective, RankEvent
from perftui.ipc.recording import Entry, RecordingWriter, read_recording
from perftui.ipc.run_files import RunDescription, read_record, write_record
from perftui.ipc.told_text import encoded, is_exact, is_utf8, told

CAFE = "/data/caf\udce9.pt"  # what Python makes of the byte E9
TOLD = "/data/caf\ufffd.pt"


def _event(text: str) -> RankEvent:
    return RankEvent(**BLANK, at_ns=7, event="checkpoint", text=text, step=3)


def test_only_what_utf8_cannot_say_gets_a_mark() -> None:
    assert told(CAFE) == TOLD
    assert told("café 漢 😀") == "café 漢 😀"
    assert told("\ud800\udfff") == "\ufffd\ufffd"
    assert [is_utf8(text) for text in ("é", TOLD, CAFE)] == [True, True, False]
    assert [is_exact(text) for text in ("é", TOLD, CAFE)] == [True, False, False]


def test_what_can_be_encoded_is_encoded_as_it_was() -> None:
    value = {"a": [1, 2.5, None, True, "é"], "b": {"c": b"\xe9"}}
    assert encoded(msgspec.msgpack.encode, value) == msgspec.msgpack.encode(value)
    with pytest.raises(TypeError):
        encoded(msgspec.msgpack.encode, object())


def test_a_frame_of_a_rank_is_the_same_but_for_the_mark() -> None:
    assert decode_from_rank(encode(_event(CAFE))) == _event(TOLD)
    settings = {"compile.backend": CAFE, "loader.num_workers": 2, CAFE: True}
    sent = Effective(**BLANK, settings=settings, failed={CAFE: CAFE})  # type: ignore[arg-type]
    heard = decode_from_rank(encode(sent))
    assert isinstance(heard, Effective)
    assert heard.settings == {"compile.backend": TOLD, "loader.num_workers": 2, TOLD: True}
    assert heard.failed == {TOLD: TOLD}


def test_bytes_and_ranks_of_other_frames_stay() -> None:
    part = TracePart(window_id="w1", rank=1, offset=0, total=3, data=b"\xe9\x00\xff", missing=CAFE)
    heard = decode_from_host(encode(part))
    assert heard == msgspec.structs.replace(part, missing=TOLD)
    assert decode_from_dashboard(encode(ProfileCommand(command_id="c1"))) == ProfileCommand(command_id="c1")


def test_a_description_is_written_and_read(tmp_path: Path) -> None:
    described = RunDescription(
        run_id="r", name=CAFE, command=["python", "t.py", CAFE], cwd=CAFE, host="h", started_unix=1.0
    )
    write_record(tmp_path / "run.json", described)
    found = read_record(tmp_path / "run.json", RunDescription)
    assert found == msgspec.structs.replace(described, name=TOLD, command=["python", "t.py", TOLD], cwd=TOLD)


def test_an_audit_and_a_recording_go_on(tmp_path: Path) -> None:
    note(tmp_path / "audit.jsonl", this_process(), "stop", "accepted", told=CAFE, given={"x": CAFE})
    (line,) = read_audit(tmp_path / "audit.jsonl")
    assert (line.told, line.given) == (TOLD, {"x": TOLD})
    writer = RecordingWriter(tmp_path, 1 << 20)
    writer.append(Entry(unix=1.0, message=_event(CAFE)))
    writer.close()
    assert list(read_recording(tmp_path)) == [Entry(unix=1.0, message=_event(TOLD))]
