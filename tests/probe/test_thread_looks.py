"""Looks at a real thread that does real things with torch: what area, and which line, they find."""

import json
import sys
import threading
import time
import weakref
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import TypeAlias

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from perftui.ipc.facts import StackFacts
from perftui.trainer.probe.thread_looks import WRITES, ThreadLooks

pytestmark = pytest.mark.torch


@contextmanager
def _running(work: Callable[[threading.Event], object]) -> Generator[int, None, None]:
    """Run something in a thread, over and over, until the end of the block."""
    ended = threading.Event()

    def loop() -> None:
        while not ended.is_set():
            work(ended)

    thread = threading.Thread(target=loop)
    thread.start()
    try:
        assert thread.ident is not None
        yield thread.ident
    finally:
        ended.set()
        thread.join()


def _looked(work: Callable[[threading.Event], object], looks: int = 30) -> StackFacts:
    seen = ThreadLooks()
    with _running(work) as ident:
        while (seen.facts() or StackFacts(looks=0, areas={})).looks < looks:
            seen.look(ident)
            time.sleep(0.002)
    found = seen.facts()
    assert found is not None
    return found


def _most(found: StackFacts) -> str:
    return max(found.areas, key=lambda area: found.areas[area])


class _Slow(Dataset[int]):
    def __len__(self) -> int:
        return 64

    def __getitem__(self, index: int) -> int:
        time.sleep(0.002)
        return index


class _Rows(Dataset[list[float]]):
    def __len__(self) -> int:
        return 64

    def __getitem__(self, index: int) -> list[float]:
        return [0.5] * 2000


class _Quick(Dataset[int]):
    def __len__(self) -> int:
        return 64

    def __getitem__(self, index: int) -> int:
        return index


def _slow_rows(rows: list[int]) -> torch.Tensor:
    time.sleep(0.01)
    return torch.tensor(rows)


def test_a_dataset_and_its_line() -> None:
    found = _looked(lambda ended: [None for _ in DataLoader(_Slow(), batch_size=8) if not ended.is_set()])
    assert _most(found) == "dataset"
    place = max((p for p in found.places if p.area == "dataset"), key=lambda p: p.count)
    assert Path(__file__).name in place.at
    assert "_Slow.__getitem__" in place.at or "__getitem__" in place.at
    assert place.line == "time.sleep(0.002)"


def test_a_collate_function_of_the_scripts_own() -> None:
    quick: DataLoader[int] = DataLoader(_Quick(), batch_size=8, collate_fn=_slow_rows)
    found = _looked(lambda ended: [None for _ in quick if not ended.is_set()])
    assert _most(found) == "collate"
    assert any("_slow_rows" in place.at for place in found.places)


def test_collating_by_torch_is_not_blamed_on_the_scripts_loop() -> None:
    rows = DataLoader(_Rows(), batch_size=16)
    found = _looked(lambda ended: [None for _ in rows if not ended.is_set()])
    assert _most(found) == "collate"
    places = [place.at for place in found.places if place.area == "collate"]
    assert all("collate.py" in at for at in places)


def test_forward_backward_and_optimizer() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(256, 2048), torch.nn.Linear(2048, 256))
    optimizer = torch.optim.Adam(model.parameters(), foreach=False)
    data = torch.randn(64, 256)

    def step(_ended: threading.Event) -> None:
        optimizer.zero_grad()
        torch.autograd.backward(torch.nn.functional.mse_loss(model(data), data))
        optimizer.step()  # pyright: ignore[reportUnknownMemberType]

    found = _looked(step, 60)
    assert {"model", "backward", "optimizer"} <= set(found.areas)
    assert found.areas.get("script", 0) < found.looks / 2


def test_lines_of_the_script_and_what_writes() -> None:
    def bookkeeping(_ended: threading.Event) -> None:
        sum(number * number for number in range(20_000))

    assert _most(_looked(bookkeeping)) == "script"


def test_printing_is_logging(tmp_path: Path) -> None:
    with (tmp_path / "log").open("w") as stream:

        def tell(_ended: threading.Event) -> None:
            stream.write("a line\n" * 20_000)

        assert _most(_looked(tell)) == "logging"


def test_what_is_made_to_be_logged_counts_as_logging() -> None:
    """A statement over several lines is found at the line that is at work, and not at the call that logs."""
    logged: list[str] = []
    log = SimpleNamespace(info=logged.append)

    def tell(_ended: threading.Event) -> None:
        logged.clear()
        log.info(
            json.dumps(
                list(range(20_000)),
            )
        )

    found = _looked(tell)
    assert _most(found) == "logging"
    assert found.areas.get("script", 0) < found.looks / 2


@pytest.mark.parametrize(
    ("line", "writes"),
    [
        ("log.info(text)", True),
        ("LOGGER.debug(text)", True),
        ("self.log('loss', loss)", True),
        ("wandb.log(figures)", True),
        ("writer.add_histogram(name, weight)", True),
        ("picture.save(path)", True),
        ("plt.savefig(path)", True),
        ("save_image(grid, path)", True),
        ("cv2.imwrite(path, grid)", True),
        ("table.to_csv(path)", True),
        ("model.save_pretrained(path)", False),
        ("self.saved(path)", False),
        ("loss = torch.log(scores)", False),
        ("scores = scores.log_softmax(1)", False),
        ("dialog.update(text)", False),
        ("likelihood = self.logits(features)", False),
    ],
)
def test_which_statements_log(line: str, writes: bool) -> None:
    assert bool(WRITES.search(line)) is writes


def test_a_trace_function_is_seen() -> None:
    def traced(_ended: threading.Event) -> None:
        sys.settrace(_local_trace)
        try:
            sum(number * number for number in range(2_000))
        finally:
            sys.settrace(None)

    found = _looked(traced)
    assert found.traced.get("sys.settrace", 0) > 0
    plain = _looked(lambda _ended: sum(number * number for number in range(20_000)))
    assert plain.traced == {}


TraceFunction: TypeAlias = Callable[[FrameType, str, object], "TraceFunction"]


def _local_trace(_frame: FrameType, _event: str, _arg: object) -> "TraceFunction":
    return _local_trace


def test_a_thread_that_is_not_known_or_gone_is_not_looked_at() -> None:
    seen = ThreadLooks()
    seen.look(0)
    assert seen.facts() is None


class _OneSlow(Dataset[int]):
    """Batches of worker 1 take their time."""

    def __len__(self) -> int:
        return 4000

    def __getitem__(self, index: int) -> int:
        worker = torch.utils.data.get_worker_info()
        if worker is not None and worker.id == 1:
            time.sleep(0.05)
        return index


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:This DataLoader will create")
def test_which_worker_is_waited_for_and_whether_the_others_are_done() -> None:
    seen = ThreadLooks()
    iterator = iter(DataLoader(_OneSlow(), batch_size=4, num_workers=3))
    for _ in range(3):  # all workers have started
        next(iterator)
    seen.iterator = weakref.ref(iterator)
    with _running(lambda _ended: next(iterator)) as ident:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            seen.look(ident)
            found = seen.facts()
            if found is not None and sum(found.awaited.values()) >= 40:
                break
            time.sleep(0.005)
    found = seen.facts()
    assert found is not None
    looks = sum(found.awaited.values())
    assert looks >= 40
    assert found.awaited["1"] > 0.6 * looks
    assert found.others_ready > 0.6 * looks
