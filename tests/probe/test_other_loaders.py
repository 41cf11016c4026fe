"""Loaders that are not torch's, or make their iterators by themselves."""

import inspect
from typing import TYPE_CHECKING

import pytest

from perftui.ipc.messages import Effective, Goodbye, RankEvent
from perftui.trainer.probe.loader_settings import LoaderBook

from .training_scripts import PREAMBLE

if TYPE_CHECKING:
    from tests.probe.conftest import Hub

pytestmark = [pytest.mark.torch, pytest.mark.slow]

STAND_IN = (
    PREAMBLE
    + """
from torch.utils.data import dataloader as private

class StandIn:
    # What an iterator of torch wants of a loader; its data set hands out whole batches.
    _auto_collation, _index_sampler, generator, drop_last = False, range(1 << 30), None, False
    _dataset_kind, _IterableDataset_len_called, prefetch_factor = private._DatasetKind.Iterable, None, 2
    multiprocessing_context, pin_memory_device, worker_init_fn, in_order = None, "", None, True
    pin_memory = persistent_workers = False
    timeout = 0
    def __init__(self, owner, num_workers):
        self.d, self.num_workers, self.dataset = owner, num_workers, self
    def _get_shared_seed(self):
        return None
    def collate_fn(self, batch):
        return batch
    def __iter__(self):
        return self.d.batches()

class Feed:
    def __init__(self, dataset, bs, num_workers=0):
        self.dataset, self.bs = dataset, bs
        self.fake_l = StandIn(self, num_workers)
    def __len__(self):
        return len(self.dataset) // self.bs
    __len__.__module__ = "fastai.data.load"
    def batches(self):
        for first in range(0, len(self.dataset), self.bs):
            rows = [self.dataset[index] for index in range(first, first + self.bs)]
            yield torch.utils.data.default_collate(rows)
    def __iter__(self):
        workers = self.fake_l.num_workers
        kind = private._MultiProcessingDataLoaderIter if workers else private._SingleProcessDataLoaderIter
        yield from kind(self.fake_l)
"""
)


def test_iterators_that_no_loader_of_torch_made_belong_to_the_one_that_did(hub: "Hub") -> None:
    outcome = hub.train(
        STAND_IN
        + """
loader, val = Feed(Data(16), 4), Feed(Data(8), 2)
for epoch in range(2):
    for batch in loader:
        step(batch)
    with torch.no_grad():
        for x, y in val:
            model(x)
"""
    )
    assert (outcome.exit_code, outcome.stderr) == (0, "")
    assert outcome.of(Goodbye)[0].errors == 0
    assert outcome.column("epoch") == [0] * 4 + [1] * 4
    assert outcome.column("samples") == [4] * 8
    validations = [event for event in outcome.of(RankEvent) if event.event == "validation"]
    assert [(event.text, event.step) for event in validations] == [("4 batches", 4), ("4 batches", 8)]
    facts = outcome.of(Effective)[-1].loader
    assert facts is not None
    assert (facts.dataset, facts.batch_size, facts.batches_per_epoch) == ("Data", 4, 4)
    assert (facts.num_workers, facts.prefetch_factor, facts.iterable) == (0, None, False)


@pytest.mark.parametrize("kind", ["Feed", "Own"])
def test_making_the_iterator_and_its_workers_is_wait(hub: "Hub", kind: str) -> None:
    """The script measures inside: its data set is pickled for the worker while that is made."""
    outcome = hub.train(
        STAND_IN.replace("model = nn.Linear", "if __name__ != '__main__': sys.exit\nmodel = nn.Linear")
        + f"""
class Own(DataLoader):
    def __iter__(self):
        return self._get_iterator()

class Slow(Data):
    spent_ns = 0
    def __getstate__(self):
        begin = time.perf_counter_ns()
        time.sleep(0.2)
        Slow.spent_ns += time.perf_counter_ns() - begin
        return vars(self)

if __name__ == "__main__":
    loader = {kind}(Slow(16), 4, num_workers=1)
    if {kind} is Own:
        loader.multiprocessing_context = "spawn"
    else:
        StandIn.multiprocessing_context = torch.multiprocessing.get_context("spawn")
    for epoch in range(2):
        Slow.spent_ns = 0
        for number, batch in enumerate(loader):
            step(batch)
        print(Slow.spent_ns)
"""
    )
    assert (outcome.exit_code, outcome.stderr) == (0, "")
    assert outcome.of(Goodbye)[0].errors == 0
    spent_ns = [int(line) for line in outcome.stdout.split()]
    assert len(spent_ns) == 2
    assert all(spent_ns)
    waits = outcome.column("wait_ns")
    assert (waits[0] >= spent_ns[0], waits[4] >= spent_ns[1]) == (True, True)
    assert outcome.column("epoch") == [0] * 4 + [1] * 4


class Built:
    """Stands for a loader of another kind, which takes less than torch's."""

    def __init__(self, dataset: object, num_workers: int = 0, **more: object) -> None:
        self.given = {"dataset": dataset, "num_workers": num_workers, **more}


SIGNATURE = inspect.signature(Built.__init__)


def test_settings_of_loaders_that_take_other_arguments() -> None:
    book = LoaderBook({"loader.num_workers": 3, "loader.prefetch_factor": 4})
    loader = Built([1])
    changed = book.altered(loader, SIGNATURE, ([1, 2],), {"shuffle": True})
    assert changed == {"dataset": [1, 2], "num_workers": 3, "shuffle": True}
    assert book.failed == {"loader.prefetch_factor": "Built takes no prefetch_factor"}


def test_a_data_set_that_is_only_a_stream_gets_no_workers() -> None:
    book = LoaderBook({"loader.num_workers": 3})
    assert book.altered(Built(None), SIGNATURE, (iter([1]),), {}) is None
    assert "the dataset is a stream" in book.failed["loader.num_workers"]


def test_arguments_that_do_not_fit_are_left_to_the_loader_to_refuse() -> None:
    book = LoaderBook({"loader.num_workers": 3})
    assert book.altered(Built([1]), SIGNATURE, (), {"num_workers": 1}) is None
    assert "missing a required argument" in book.failed["loader.num_workers"]
