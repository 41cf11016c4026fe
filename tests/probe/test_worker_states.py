"""Real loader workers tell in which states their random generators begin."""

import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset
from torch.utils.data._utils import worker as worker_module

from perftui.ipc.loader_facts import CopiedGenerator
from perftui.trainer.probe.batch_making import patch_fetchers
from perftui.trainer.probe.border import Border
from perftui.trainer.probe.copied_generators import copies_in_workers
from perftui.trainer.probe.generator_states import state_of
from perftui.trainer.probe.sampler_reading import copied_alike
from perftui.trainer.probe.worker_states import (
    StatesPage,
    WorkerStates,
    WorkerTold,
    alike,
    longest_s,
    patch_workers,
)
from tests.probe.generator_scripts import loader_of

pytestmark = pytest.mark.torch


@pytest.fixture
def states(fetchers: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> Iterator[WorkerStates]:
    info: Any = worker_module.WorkerInfo
    monkeypatch.setattr(info, "__init__", info.__init__)
    border = Border()
    made = WorkerStates(border)
    patch_fetchers([made.watch])
    patch_workers(made.prepare)
    yield made
    assert border.take_reports() == []


class _Draws(Dataset[float]):
    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> float:
        return float(np.random.random())


def _nothing(_worker: int) -> None:
    pass


def _numpy_alike(_worker: int) -> None:
    np.random.seed(42)


def _numpy_apart(_worker: int) -> None:
    np.random.seed(torch.initial_seed() % 2**32)


def _all_alike(worker: int) -> None:
    random.seed(1)
    torch.manual_seed(1)  # pyright: ignore[reportUnknownMemberType]
    _numpy_alike(worker)


def _gone_through(states: WorkerStates, loader: DataLoader[Any]) -> tuple[list[Any], list[WorkerTold | None]]:
    states.begin(loader)
    iterator = iter(loader)
    pids = [worker.pid for worker in vars(iterator)["_workers"]]
    batches = list(iterator)
    assert states.page is not None
    return batches, [states.page.read(pid) for pid in pids]


@pytest.mark.parametrize(
    ("init", "expected"),
    [
        (None, []),
        (_nothing, []),
        (_numpy_apart, []),
        (_numpy_alike, ["numpy"]),
        (_all_alike, ["random", "numpy", "torch"]),
    ],
)
def test_global_generators_that_are_alike_in_all_workers(
    states: WorkerStates, init: Callable[[int], None] | None, expected: list[str]
) -> None:
    loader = DataLoader(
        _Draws(), batch_size=2, num_workers=2, worker_init_fn=init, multiprocessing_context="fork"
    )
    batches, told = _gone_through(states, loader)
    assert len(batches) == 4
    assert alike(told) == expected


def test_workers_that_have_not_told_are_not_judged() -> None:
    told = WorkerTold(1, 2, 3, None)
    assert alike([]) is alike([told]) is alike([told, None]) is None
    assert alike([told, told]) == ["random", "numpy", "torch"]
    assert alike([told, told._replace(numpy=None)]) == ["random", "torch"]


def test_a_page_holds_what_many_workers_tell() -> None:
    states = WorkerStates(Border())
    loader = DataLoader(_Draws(), num_workers=2)
    states.begin(loader)
    page = states.page
    assert isinstance(page, StatesPage)
    states.begin(loader)
    assert states.page is page
    for pid in range(5000, 5600):
        page.write(pid, WorkerTold(pid, None, 7, {}))
    assert page.read(5100) == WorkerTold(5100, None, 7, {})
    assert page.read(5100 + 1024) is None
    timed = WorkerTold(1, 2, 3, None, 0.5)
    page.write(5100, timed)
    assert page.read(5100) == timed


@pytest.mark.parametrize(
    ("workers", "init", "asked"),
    [
        (2, _nothing, True),
        (2, None, True),
        (1, _nothing, True),
        (1, None, False),
        (0, _nothing, False),
    ],
)
def test_who_is_asked(workers: int, init: Callable[[int], None] | None, asked: bool) -> None:
    states = WorkerStates(Border())
    states.begin(DataLoader(_Draws(), num_workers=workers, worker_init_fn=init))
    assert (states.page is not None) is asked


def _slow(worker: int) -> None:
    time.sleep(0.1 + 0.2 * worker)


@pytest.mark.parametrize(("workers", "least_s"), [(2, 0.3), (1, 0.1)])
def test_the_slowest_preparation_is_told(states: WorkerStates, workers: int, least_s: float) -> None:
    loader = DataLoader(
        _Draws(), batch_size=2, num_workers=workers, worker_init_fn=_slow, multiprocessing_context="fork"
    )
    _, told = _gone_through(states, loader)
    assert longest_s([None, *told]) == max(each.prepared_s or 0.0 for each in told if each is not None)
    assert least_s <= (longest_s(told) or 0.0) < 5
    assert alike(told) == ([] if workers > 1 else None)


def test_preparations_that_nobody_told_have_no_length(states: WorkerStates) -> None:
    assert longest_s([]) is longest_s([None]) is longest_s([WorkerTold(1, 2, 3, None)]) is None
    _, told = _gone_through(states, DataLoader(_Draws(), num_workers=2, multiprocessing_context="fork"))
    assert 0 < (longest_s(told) or 0.0) < 0.1


TRANSFORM = """
class Jitter:
    def __init__(self):
        self.rng = np.random.RandomState(0)
    def __call__(self, x):
        return x + self.rng.rand()
class Images(Rows):
    def __init__(self, transform):
        self.transform = transform
    def __getitem__(self, index):
        return self.transform(0.0)
"""
GLOBAL = """
import sys
draw = np.random.default_rng(0)
class Drawn(Rows):
    def __getitem__(self, index):
        return draw.normal()
"""
APART = {
    "seeded by the way to it": TRANSFORM
    + """
def prepare(worker):
    get_worker_info().dataset.transform.rng.seed(torch.initial_seed() % 2**32)
loader = DataLoader(Images(Jitter()), worker_init_fn=prepare, **LOADER)
""",
    "another one put there": TRANSFORM
    + """
class Held:
    def __call__(self, worker):
        get_worker_info().dataset.transform = Jitter()
        get_worker_info().dataset.transform.rng.seed(worker)
loader = DataLoader(Images(Jitter()), worker_init_fn=Held(), **LOADER)
""",
    "a global set anew": GLOBAL
    + """
def prepare(worker):
    global draw
    draw = np.random.default_rng(worker)
loader = DataLoader(Drawn(), worker_init_fn=prepare, **LOADER)
""",
    "a global of another module's": GLOBAL
    + """
def prepare(worker):
    sys.modules[__name__].draw = np.random.default_rng(worker)
loader = DataLoader(Drawn(), worker_init_fn=partial(prepare), **LOADER)
""",
    "as the iteration begins": """
class Stream(IterableDataset):
    def __init__(self):
        self.rng = random.Random(0)
    def __iter__(self):
        prepare_by(self.rng)
        return self
    def __next__(self):
        return self.rng.random()
def prepare_by(rng):
    rng.__init__(torch.initial_seed())
class Few(Stream):
    left = 8
    def __next__(self):
        self.left -= 1
        if not self.left:
            raise StopIteration
        return super().__next__()
loader = DataLoader(Few(), **LOADER)
""",
    "never drawn from": """
class Spare(Noisy):
    spare = False
    def __getitem__(self, index):
        return self.rng.normal() if self.spare else 0.0
loader = DataLoader(Spare(), worker_init_fn=int, **LOADER)
""",
}
ALIKE = {
    "an init that does nothing": (
        "loader = DataLoader(Noisy(), worker_init_fn=int, **LOADER)",
        "torch.utils.data.get_worker_info().dataset.rng",
    ),
    "no init": (
        "loader = DataLoader(Noisy(), **LOADER)",
        "torch.utils.data.get_worker_info().dataset.rng",
    ),
    "an init that sets what nobody reads": (
        GLOBAL
        + """
def prepare(worker):
    get_worker_info().dataset.draw = np.random.default_rng(torch.initial_seed())
loader = DataLoader(Drawn(), worker_init_fn=prepare, **LOADER)
""",
        "draw",
    ),
    "of a transform, seeded with one number": (
        TRANSFORM
        + """
def prepare(worker):
    get_worker_info().dataset.transform.rng.seed(7)
loader = DataLoader(Images(Jitter()), worker_init_fn=prepare, **LOADER)
""",
        "torch.utils.data.get_worker_info().dataset.transform.rng",
    ),
    "workers that stay": (
        "loader = DataLoader(Noisy(), worker_init_fn=int, persistent_workers=True, **LOADER)",
        "torch.utils.data.get_worker_info().dataset.rng",
    ),
}


def _judged(
    states: WorkerStates, loader: DataLoader[Any], epochs: int = 1
) -> tuple[list[Any], list[CopiedGenerator]]:
    for _ in range(epochs - 1):
        _gone_through(states, loader)
    batches, told = _gone_through(states, loader)
    return [batch.tolist() for batch in batches], copied_alike(copies_in_workers(loader), told)


@pytest.mark.parametrize("case", ALIKE)
def test_copies_that_stay_alike(
    states: WorkerStates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    text, reached = ALIKE[case]
    loader = loader_of(tmp_path, monkeypatch, text)
    batches, found = _judged(states, loader, 1 + loader.persistent_workers)
    assert batches[0] == batches[1]
    assert [(each.reached, each.workers_alike, each.alike_after) for each in found] == [(reached, 2, True)]


@pytest.mark.parametrize("case", APART)
def test_copies_that_are_apart_or_not_used(
    states: WorkerStates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    batches, found = _judged(states, loader_of(tmp_path, monkeypatch, APART[case]))
    assert (batches[0] == batches[1]) is (case == "never drawn from")
    assert found == []


def test_draws_that_differ_in_number_leave_a_doubt(
    states: WorkerStates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = """
class Several(Noisy):
    def __getitem__(self, index):
        return sum(self.rng.normal() for _ in range(1 + index % 7))
loader = DataLoader(Several(), worker_init_fn=int, **LOADER)
"""
    _, found = _judged(states, loader_of(tmp_path, monkeypatch, text))
    assert [(each.workers_alike, each.alike_after) for each in found] == [(2, False)]


@pytest.mark.filterwarnings("ignore:This DataLoader will create")
def test_two_of_three_workers(states: WorkerStates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = """
def prepare(worker):
    get_worker_info().dataset.rng = np.random.default_rng(worker // 2)
loader = DataLoader(Noisy(), worker_init_fn=prepare, **{**LOADER, "num_workers": 3})
"""
    _, found = _judged(states, loader_of(tmp_path, monkeypatch, text))
    assert [each.workers_alike for each in found] == [2]


def test_nothing_is_drawn_or_moved_and_fetches_are_torchs_own_again(
    states: WorkerStates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = """
HELD = []
class Kinds(Rows):
    def __init__(self):
        self.parts = [np.random.default_rng(1), np.random.RandomState(1), random.Random(1), torch.Generator()]
        self.first, self.second, self.third, self.fourth = self.parts
    def __getitem__(self, index):
        drawn = [self.first.normal(), self.second.rand(), self.third.random()]
        drawn += [torch.rand(1, generator=self.fourth).item(), random.random(), np.random.rand()]
        return drawn + [float("fetch" in vars(HELD[0])) if HELD else -1.0]
def prepare(worker):
    from torch.utils.data._utils import fetch
    base = fetch._BaseDatasetFetcher
    build = base.__init__
    def built(self, *args):
        build(self, *args)
        HELD.append(self)
    base.__init__ = built
torch.manual_seed(0)
loader = DataLoader(Kinds(), worker_init_fn=prepare, **LOADER)
"""
    loader = loader_of(tmp_path, monkeypatch, text)
    watched = [torch.stack(batch) for batch in _gone_through(states, loader)[0]]
    states.page = None  # workers find nothing to tell on
    torch.manual_seed(0)
    plain = [torch.stack(batch) for batch in loader_of(tmp_path, monkeypatch, text)]
    assert all(torch.equal(one[:-1], other[:-1]) for one, other in zip(watched, plain, strict=True))
    assert watched[0][-1].tolist() == [1.0] * 4
    assert watched[2][-1].tolist() == [0.0] * 4


def _drawn(of: Any) -> object:  # noqa: ANN401 - four kinds that have nothing in common
    if isinstance(of, torch.Generator):
        return torch.rand(1, generator=of)
    return of.gauss(0, 1) if isinstance(of, random.Random) else of.normal()


@pytest.mark.parametrize(
    "made",
    [
        lambda: np.random.default_rng(3),
        lambda: np.random.Generator(np.random.MT19937(3)),
        lambda: np.random.Generator(np.random.Philox(3)),
        lambda: np.random.RandomState(3),
        lambda: random.Random(3),
        lambda: torch.Generator().manual_seed(3),
    ],
)
def test_checksums_tell_states_apart_and_move_nothing(made: Callable[[], object]) -> None:
    one, other = made(), made()
    begun = state_of(one)
    assert begun is not None
    assert begun == state_of(one) == state_of(other)
    for _ in range(2):  # of two normal draws the second may be kept from the first
        _drawn(one)
        assert state_of(one) != state_of(other)
        _drawn(other)
        assert state_of(one) == state_of(other)
    assert state_of(one) != begun
