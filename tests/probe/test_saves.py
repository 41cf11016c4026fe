"""Which writes are files of a checkpoint, and which files are one checkpoint."""

import threading
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from time import perf_counter_ns
from typing import Any

import pytest
import torch

from perftui.trainer.probe.border import Border
from perftui.trainer.probe.saves import CLOSE_NS, STREAM, Save, SaveWatch, joined_saves
from perftui.trainer.probe.saving_threads import SavingThreads
from perftui.trainer.probe.stamps import SAVE_BEGIN, UNKNOWN_CPU

pytestmark = pytest.mark.torch

Target = str | Path | BytesIO


class Watched:
    """A watch over the functions of one test; `put` and the files are kept."""

    def __init__(self, training_thread: int | None = None) -> None:
        self.border = Border()
        self.stamps: list[tuple[int, int, int, int]] = []
        self.files: list[Save] = []
        thread = training_thread if training_thread is not None else threading.get_ident()
        self.elsewhere = SavingThreads()
        self.watch = SaveWatch(self.border, self._put, lambda: thread, self.files.append, self.elsewhere)

    def _put(self, code: int, at_ns: int, cpu_ns: int, value: int) -> None:
        self.stamps.append((code, at_ns, cpu_ns, value))

    def wrapped(self, original: Callable[..., Any] = torch.save, target: str = "f") -> Callable[..., Any]:
        return self.watch.wrapped(original, target)


def test_a_file_is_timed_and_named_and_its_beginning_is_stamped(tmp_path: Path) -> None:
    watched = Watched()
    begin_ns = perf_counter_ns()
    watched.wrapped()({"a": torch.ones(2)}, tmp_path / "last.pt")
    end_ns = perf_counter_ns()
    ((code, at_ns, cpu_ns, value),) = watched.stamps
    assert (code, cpu_ns, value) == (SAVE_BEGIN, UNKNOWN_CPU, 0)
    (save,) = watched.files
    assert begin_ns <= save.at_ns == at_ns
    assert 0 < save.duration_ns <= end_ns - save.at_ns
    assert save.text == "last.pt"
    assert torch.equal(torch.load(tmp_path / "last.pt", weights_only=True)["a"], torch.ones(2))


def test_where_it_is_written_is_found_however_it_is_said(tmp_path: Path) -> None:
    watched = Watched()
    save = watched.wrapped()
    targets: list[Target] = [str(tmp_path / "a.pt"), tmp_path / "b.pt", BytesIO()]
    for target in targets:
        save(1, target)
        save(1, f=target)
    assert [each.text for each in watched.files] == ["a.pt", "a.pt", "b.pt", "b.pt", STREAM, STREAM]


def test_what_a_writer_does_by_another_counts_once(tmp_path: Path) -> None:
    """As Lightning serialises into memory and writes the bytes then."""
    watched = Watched()
    inner = watched.wrapped()

    def outer(thing: object, filepath: Path) -> int:
        memory = BytesIO()
        inner(thing, memory)
        return filepath.write_bytes(memory.getvalue())

    assert watched.wrapped(outer, "filepath")(1, filepath=tmp_path / "last.ckpt") > 0
    assert [save.text for save in watched.files] == ["last.ckpt"]
    assert len(watched.stamps) == 1


def test_a_write_that_raises_is_no_checkpoint_and_the_next_one_is(tmp_path: Path) -> None:
    watched = Watched()
    save = watched.wrapped()
    with pytest.raises(RuntimeError, match="does not exist"):
        save(1, tmp_path / "nowhere" / "last.pt")
    assert watched.files == []
    save(1, tmp_path / "last.pt")
    assert [each.text for each in watched.files] == ["last.pt"]


def test_another_thread_leaves_no_stamp_but_its_file_is_noted(tmp_path: Path) -> None:
    watched = Watched(training_thread=-1)
    watched.wrapped()(1, tmp_path / "last.pt")
    assert watched.stamps == []
    assert [save.text for save in watched.files] == ["last.pt"]


def test_a_writer_that_knows_its_folder_names_it(tmp_path: Path) -> None:
    class Writer:
        path = tmp_path / "step-7"

    def save(state: dict[str, object], storage_writer: Writer) -> None:
        (storage_writer.path.parent / "written").write_text(str(state))

    watched = Watched()
    watched.wrapped(save, "checkpoint_id")({}, storage_writer=Writer())
    assert [each.text for each in watched.files] == ["step-7"]
    assert watched.border.errors == 0


def test_files_that_are_written_in_a_row_are_one_checkpoint() -> None:
    files = [
        Save(100, 50, "model.pt"),
        Save(160, 20, STREAM),
        Save(190, 5, "optimizer.pt"),
        Save(200, 1, "r"),
    ]
    assert joined_saves((3, save) for save in files) == [(3, Save(100, 76, "model.pt and 2 more"))]


def test_a_checkpoint_lasts_as_long_as_its_files_do_however_they_overlap() -> None:
    """Threads write two files inside the call that waits for both, which is noted last."""
    files = [Save(120, 30, STREAM), Save(140, 40, STREAM), Save(100, 100, "step-7"), Save(230, 10, "x.pt")]
    assert joined_saves((0, save) for save in files) == [(0, Save(100, 110, "step-7 and 1 more"))]


def test_steps_and_long_pauses_part_checkpoints() -> None:
    far = 160 + CLOSE_NS
    placed = [
        (1, Save(100, 10, "a.pt")),
        (2, Save(120, 10, "b.pt")),
        (2, Save(150, 10, "b.pt")),
        (2, Save(far, 10, "c.pt")),
        (2, Save(far + 11 + CLOSE_NS, 10, "d.pt")),
    ]
    assert joined_saves(placed) == [
        (1, Save(100, 10, "a.pt")),
        (2, Save(120, 30, "b.pt and 1 more")),
        (2, Save(far + 11 + CLOSE_NS, 10, "d.pt")),
    ]


def test_streams_alone_are_a_checkpoint_as_well() -> None:
    assert joined_saves([(0, Save(5, 2, STREAM)), (0, Save(8, 2, STREAM))]) == [(0, Save(5, 4, STREAM))]
