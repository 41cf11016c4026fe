"""What reading facts costs: the background thread's work a second, and the little in the training thread.

Run as `python benchmarks/facts_cost.py`. CPU time of one thread, the least of several repetitions.
"""

import gc
import time
import weakref
from collections.abc import Callable

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from perftui.trainer.probe.batch_signature import describe_batch
from perftui.trainer.probe.border import Border
from perftui.trainer.probe.effective import read_in_force
from perftui.trainer.probe.facts import FactsTeller
from perftui.trainer.probe.gc_pauses import GcWatch
from perftui.trainer.probe.live_objects import live_objects
from perftui.trainer.probe.loader_settings import LoaderBook
from perftui.trainer.probe.recorder import Recorder
from perftui.trainer.probe.step_times import StepTimes

SECOND = 1_000_000_000
REPEATS = 7


def least_us(work: Callable[[], object], count: int) -> float:
    best = float("inf")
    for _ in range(REPEATS):
        began = time.thread_time_ns()
        for _ in range(count):
            work()
        best = min(best, (time.thread_time_ns() - began) / count / 1e3)
    return best


def model_of(layers: int) -> nn.Module:
    return nn.Sequential(*(nn.Linear(16, 16) for _ in range(layers)))


def reading(layers: int) -> None:
    model = model_of(layers)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    live_objects.optimizers.note(optimizer)
    recorder = Recorder(Border(), LoaderBook({}), lambda: None)
    recorder.optimizer = weakref.ref(optimizer)
    torch.compile(model, backend="eager")(torch.zeros(2, 16))  # so that dynamo has books
    teller = FactsTeller(recorder, time.time_ns() - time.perf_counter_ns(), StepTimes())
    in_force = read_in_force(recorder, {})
    now = [time.perf_counter_ns()]

    def after(seconds: int) -> None:
        now[0] += seconds * SECOND
        teller.read(now[0], in_force)

    after(1)
    print(f"{2 * layers:>6} tensors: each second {least_us(lambda: after(1), 9):8.1f} us", end="")
    print(f", each 10 s {least_us(lambda: after(10), 5):8.1f} us", end="")
    print(f", each minute {least_us(lambda: after(60), 5):8.1f} us")
    teller.close()


def collections() -> None:
    gc.collect()
    gc.freeze()
    bare = least_us(lambda: gc.collect(0), 2000)
    watch = GcWatch()
    watch.begin()
    watched = least_us(lambda: gc.collect(0), 2000)
    watch.end()
    gc.unfreeze()
    print(f"a collection: {bare:.2f} us, watched {watched:.2f} us: {watched - bare:+.2f} us")


def batches() -> None:
    pair = (torch.zeros(8, 3), torch.zeros(8))
    many = [{"boxes": torch.zeros(4), "name": "a"} for _ in range(64)]
    print(f"describe_batch: two tensors {least_us(lambda: describe_batch(pair), 500):.1f} us", end="")
    print(f", 64 dictionaries {least_us(lambda: describe_batch(many), 500):.1f} us; every 256th batch")


def epochs() -> None:
    book = LoaderBook({})
    loader = DataLoader(TensorDataset(torch.zeros(8)), batch_size=2, shuffle=True)
    index = book.index(loader)
    print(f"note of the sampler: {least_us(lambda: book.samplers.begin(index, loader), 500):.1f} us an epoch")


if __name__ == "__main__":
    print(f"torch {torch.__version__}")
    for layers in (4, 400, 4000):
        reading(layers)
    collections()
    batches()
    epochs()
