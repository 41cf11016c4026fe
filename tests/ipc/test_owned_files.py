"""Files that are read are plain files; what is damaged, endless or too deep is no record, and no crash."""

import os
from pathlib import Path

import msgspec
import pytest

from perftui.ipc import run_files
from perftui.ipc.errors import RecordingError
from perftui.ipc.messages import Beat
from perftui.ipc.owned_files import regular_file
from perftui.ipc.recording import Entry, RecordingWriter, read_recording
from perftui.ipc.run_files import ExitRecord, read_record
from tests.fuzz.seeds import example


def test_a_pipe_and_a_device_are_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "run.json")
    (tmp_path / "exit.json").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "000001.rec")
    assert read_record(tmp_path / "run.json", ExitRecord) is None
    assert read_record(tmp_path / "exit.json", ExitRecord) is None
    with pytest.raises(RecordingError, match="not a file"):
        list(read_recording(tmp_path))
    with pytest.raises(OSError, match="not a file"):
        regular_file(Path("/dev/null"))


def test_a_record_has_a_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "exit.json"
    path.write_bytes(msgspec.json.encode(ExitRecord(exit_code=0, ended_unix=1.0)))
    assert read_record(path, ExitRecord) is not None
    monkeypatch.setattr(run_files, "_MOST_BYTES", 10)
    assert read_record(path, ExitRecord) is None


def test_deep_nesting_is_no_record(tmp_path: Path) -> None:
    (tmp_path / "exit.json").write_bytes(b'{"later":' + b"[" * 100_000 + b"]" * 100_000 + b"}")
    assert read_record(tmp_path / "exit.json", ExitRecord) is None
    deep = b"\x81\xa5later" + b"\x91" * 100_000 + b"\xc0"
    data = b"perftui recording 1\n" + len(deep).to_bytes(4, "little") + deep
    (tmp_path / "000001.rec").write_bytes(data)
    with pytest.raises(RecordingError, match="damaged at byte 20"):
        list(read_recording(tmp_path))


def _written(folder: Path, entry: Entry) -> Path:
    writer = RecordingWriter(folder, 1 << 20)
    writer.append(entry)
    writer.close()
    return folder


def test_a_recording_is_held_to_what_the_wire_is(tmp_path: Path) -> None:
    beat = example(Beat)
    assert len(list(read_recording(_written(tmp_path, Entry(unix=1.0, message=beat))))) == 1
    for bad in (
        Entry(unix=float("nan")),
        Entry(unix=1e300),
        Entry(unix=-1.0),
        Entry(unix=1.0, message=msgspec.structs.replace(beat, rank=-1)),
    ):
        folder = tmp_path / "bad"
        folder.mkdir(exist_ok=True)
        for segment in folder.iterdir():
            segment.unlink()
        with pytest.raises(RecordingError, match="damaged at byte 20"):
            list(read_recording(_written(folder, bad)))


def test_a_segment_is_the_user_s_alone_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        _written(tmp_path, Entry(unix=1.0))
    finally:
        os.umask(before)
    assert (tmp_path / "000001.rec").stat().st_mode & 0o777 == 0o600
