"""A run on disk: complete, bounded, readable after a crash, and honest about what the disk refused."""

import resource
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

from perftui.ipc.errors import RecordingError
from perftui.ipc.messages import Beat
from perftui.ipc.recording import Entry, RecordingWriter, read_recording
from perftui.ipc.view import HostView

BIG = 64 * 1024 * 1024


def _entry(number: int) -> Entry:
    return Entry(
        unix=1000.0 + number,
        message=Beat(run_id="r", host="h" * 40, rank=number % 4, seq=number, at_ns=number, step=number),
        hosts=[HostView(name="h", age_s=0.5, cpus=2.0)] if number % 10 == 0 else [],
    )


def _write(folder: Path, numbers: range, budget: int = BIG) -> None:
    writer = RecordingWriter(folder, budget)
    for number in numbers:
        writer.append(_entry(number))
    writer.close()
    assert writer.failed_entries == 0


def _segments(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.rec"))


def test_what_was_written_is_read_in_order(tmp_path: Path) -> None:
    _write(tmp_path, range(500))
    assert list(read_recording(tmp_path)) == [_entry(number) for number in range(500)]


def test_an_entry_is_there_although_the_writer_never_closes(tmp_path: Path) -> None:
    writer = RecordingWriter(tmp_path, BIG)
    writer.append(_entry(0))
    assert list(read_recording(tmp_path)) == [_entry(0)]
    writer.close()


def test_a_second_writer_goes_on_in_a_new_segment(tmp_path: Path) -> None:
    _write(tmp_path, range(5))
    _write(tmp_path, range(5, 9))
    assert len(_segments(tmp_path)) == 2
    assert [entry.unix for entry in read_recording(tmp_path)] == [1000.0 + n for n in range(9)]


@pytest.mark.parametrize("cut", [1, 3, 4, 5, 30])
def test_a_torn_last_entry_is_skipped(tmp_path: Path, cut: int) -> None:
    _write(tmp_path, range(10))
    segment = _segments(tmp_path)[0]
    segment.write_bytes(segment.read_bytes()[:-cut])
    assert list(read_recording(tmp_path)) == [_entry(number) for number in range(9)]


def test_the_budget_holds_and_the_beginning_stays(tmp_path: Path) -> None:
    budget = 64 * 1024
    _write(tmp_path, range(5000), budget)
    assert sum(path.stat().st_size for path in _segments(tmp_path)) <= budget
    found = [int(entry.unix - 1000) for entry in read_recording(tmp_path)]
    assert found[:20] == list(range(20))
    assert found[-1] == 4999
    assert found == sorted(found)
    assert len(found) < 5000


def test_writers_that_begin_again_and_again_keep_all_within_the_budget(tmp_path: Path) -> None:
    for first in range(0, 36, 3):
        _write(tmp_path, range(first, first + 3))
    assert len(_segments(tmp_path)) == 12
    assert list(read_recording(tmp_path)) == [_entry(number) for number in range(36)]


def test_the_budget_holds_whoever_writes(tmp_path: Path) -> None:
    """Small segments go before it is spent; the first, and what is newest, stay."""
    budget = 64 * 1024
    for first in range(0, 3000, 30):
        _write(tmp_path, range(first, first + 30), budget)
        assert sum(path.stat().st_size for path in _segments(tmp_path)) <= budget
    found = [int(entry.unix - 1000) for entry in read_recording(tmp_path)]
    assert found[:30] == list(range(30))
    assert found[30:] == list(range(found[30], 3000))
    assert sum(path.stat().st_size for path in _segments(tmp_path)) > budget * 3 // 4


def test_an_entry_longer_than_a_segment_makes_its_own_room(tmp_path: Path) -> None:
    budget = 64 * 1024
    _write(tmp_path, range(1000), budget)
    writer = RecordingWriter(tmp_path, budget)
    writer.append(Entry(unix=5000.0, hosts=[HostView(name="h" * 30_000, age_s=0.5, cpus=2.0)]))
    writer.close()
    assert sum(path.stat().st_size for path in _segments(tmp_path)) <= budget
    assert [entry.unix for entry in read_recording(tmp_path)][-1] == 5000.0


def test_damage_in_the_middle_names_file_and_byte(tmp_path: Path) -> None:
    _write(tmp_path, range(10))
    segment = _segments(tmp_path)[0]
    data = bytearray(segment.read_bytes())
    middle = data.index(b"h" * 40, len(data) // 2) - 4
    data[middle : middle + 8] = b"\xc1" * 8  # a byte that MessagePack never uses
    segment.write_bytes(data)
    with pytest.raises(RecordingError, match=r"000001\.rec: damaged at byte \d+"):
        list(read_recording(tmp_path))


def test_an_absurd_length_is_damage_and_not_an_allocation(tmp_path: Path) -> None:
    _write(tmp_path, range(1))
    segment = _segments(tmp_path)[0]
    segment.write_bytes(segment.read_bytes() + b"\xff\xff\xff\xff" + b"x" * 100)
    with pytest.raises(RecordingError, match=r"entry of 4294967295 bytes"):
        list(read_recording(tmp_path))


def test_what_is_no_recording_says_so(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="no recording there"):
        list(read_recording(tmp_path))
    with pytest.raises(RecordingError, match="no recording there"):
        list(read_recording(tmp_path / "absent"))
    (tmp_path / "000001.rec").write_bytes(b"perftui recording 9\n")
    with pytest.raises(RecordingError, match="not a recording of this version"):
        list(read_recording(tmp_path / "000001.rec"))


FULL_DISK = """
import resource, signal, sys
from itertools import pairwise
from pathlib import Path
sys.path.insert(0, sys.argv[2])
import test_recording as here
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
writer = here.RecordingWriter(Path(sys.argv[1]), here.BIG)
for number in range(50):
    writer.append(here._entry(number))
at = Path(sys.argv[1], "000001.rec").stat().st_size
for number in range(50, 150):  # some of an entry is taken, and then none of it
    resource.setrlimit(resource.RLIMIT_FSIZE, (at + 20 if number < 100 else 0, unlimited[1]))
    writer.append(here._entry(number))
assert writer.failed_entries == 100, writer.failed_entries
assert writer.failure == "File too large", writer.failure
resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
for number in range(150, 200):
    writer.append(here._entry(number))
writer.close()
"""


def test_a_full_disk_costs_entries_that_are_counted_and_the_rest_can_be_read(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(tmp_path), str(Path(__file__).parent)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert len(_segments(tmp_path)) == 1
    entries = list(read_recording(tmp_path))
    found = [int(entry.unix - 1000) for entry in entries]
    assert found == [*range(50), *range(150, 200)]
    assert entries[50].gap == 100
    assert sum(entry.gap for entry in entries) == 100
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY


def test_the_head_of_each_segment_says_how_things_stood(tmp_path: Path) -> None:
    asked: list[int] = []

    def standing() -> list[Entry]:
        asked.append(len(asked))
        return [_entry(900_000 + len(asked)), _entry(910_000)]

    writer = RecordingWriter(tmp_path, 64 * 1024, standing)
    for number in range(2000):
        writer.append(_entry(number))
    writer.close()
    assert sum(path.stat().st_size for path in _segments(tmp_path)) <= 64 * 1024
    for segment in _segments(tmp_path):
        first, second, third, *_ = read_recording(segment)
        number = int(segment.stem)
        assert [entry.repeated for entry in (first, second, third)] == [True, True, False]
        assert first.message == _entry(900_000 + number).message
    assert len(asked) == int(_segments(tmp_path)[-1].stem)


def test_what_stands_at_the_head_is_bounded_and_can_be_read(tmp_path: Path) -> None:
    beat = _entry(1).message
    assert beat is not None
    wrong = Entry(unix=1.0, message=msgspec.structs.replace(beat, rank=-1))
    writer = RecordingWriter(tmp_path, 64 * 1024, lambda: [wrong, *map(_entry, range(1000))])
    for number in range(500):
        writer.append(_entry(number))
    writer.close()
    for segment in _segments(tmp_path):
        found = list(read_recording(segment))
        heads = [entry for entry in found if entry.repeated]
        assert 5 < len(heads) < 2048 / 60
        assert heads[0].message == _entry(0).message


def test_where_segments_are_gone_the_next_entry_says_so(tmp_path: Path) -> None:
    _write(tmp_path, range(5000), 64 * 1024)
    found = list(read_recording(tmp_path))
    (hole,) = [at for at, entry in enumerate(found) if entry.after_hole]
    assert found[hole].unix > found[hole - 1].unix + 1
    assert all(after.unix == before.unix + 1 for before, after in pairwise(found[hole:]))
    first, second = _segments(tmp_path)[:2]
    assert not any(entry.after_hole for entry in read_recording(first))
    assert next(iter(read_recording(second))).after_hole
