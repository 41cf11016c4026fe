"""What real trainings tell beside their steps, seen from the hub's end of the socket."""

from typing import TYPE_CHECKING

import pytest
import torch

from perftui.ipc.messages import FLAG_COMPILING, Goodbye, RankEvent
from tests.probe.told_facts import PREAMBLE, last

if TYPE_CHECKING:
    from tests.probe.conftest import Hub, Outcome

pytestmark = [pytest.mark.torch, pytest.mark.slow]


ALONE = (
    PREAMBLE
    + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(8, 2)

    def forward(self, x):
        return self.inner(x) * 2

class Slow:
    def __del__(self):
        time.sleep(0.02)

os.environ["CUDA_LAUNCH_BLOCKING"] = "1"
os.environ["SOME_TOKEN"] = "secret"
torch.backends.cudnn.benchmark = True
gc.collect()
gc.disable()

def train():
    net = Net()
    model = torch.compile(net, backend="eager", dynamic=False)
    optimizer = torch.optim.Adam(net.parameters(), 0.01, amsgrad=True)
    for epoch in range(2):
        for number, (x, y) in enumerate(DataLoader(data, batch_size=4, shuffle=True)):
            if epoch == 1 and number == 6:
                x, y = x[:3], y[:3]
            step(model, optimizer, x, y)
    slow = Slow()
    slow.me = slow
    del slow
    gc.collect()
    gc.collect(0)

train()
"""
)


@pytest.fixture(scope="module")
def alone(module_hub: "Hub") -> "Outcome":
    outcome = module_hub.train(ALONE)
    assert outcome.exit_code == 0, outcome.stderr
    assert "perftui" not in outcome.stderr
    assert [goodbye.errors for goodbye in outcome.of(Goodbye)] == [0]
    return outcome


def test_compilations_are_told_with_their_reason_and_step(alone: "Outcome") -> None:
    compiled = last(alone).compile
    assert compiled is not None
    assert (compiled.frames, compiled.graphs, compiled.recompiles) == (2, 2, 1)
    assert "expected 4, actual 3" in str(compiled.recompiled[0].reason)
    assert compiled.compile_s is not None
    events = [event for event in alone.of(RankEvent) if event.event == "compile"]
    assert [event.step for event in events] == [0, 18]
    assert [flags & FLAG_COMPILING for flags in alone.column("flags")].count(FLAG_COMPILING) == 2
    assert events[1].text.startswith("recompiled ")
    took_s = sum(event.duration_ns for event in events) / 1e9
    assert compiled.compile_s == pytest.approx(took_s, abs=0.002)


def test_collections_are_told(alone: "Outcome") -> None:
    told = last(alone).gc
    assert told is not None
    assert told.counts[0] >= 1
    assert told.counts[2] >= 1  # none began by itself, but torch.compile asks for some too
    assert not told.enabled
    pauses = [event for event in alone.of(RankEvent) if event.event == "gc"]
    assert told.long_pauses == len(pauses)
    assert told.longest_ms >= 20
    full = [event for event in pauses if event.text.startswith("full garbage collection")]
    assert full[-1].duration_ns >= 20_000_000
    assert full[-1].step == 24  # after the last


def test_settings_and_objects_are_read_back(alone: "Outcome") -> None:
    facts = last(alone)
    assert facts.backends is not None
    assert facts.backends.cudnn_benchmark is True
    assert facts.environment is not None
    assert facts.environment["CUDA_LAUNCH_BLOCKING"] == "1"
    assert "SOME_TOKEN" not in facts.environment
    assert facts.own_environment is not None
    assert "CUDA_LAUNCH_BLOCKING" in facts.own_environment
    assert facts.optimizers is not None
    assert [(one.kind, one.flags["amsgrad"]) for one in facts.optimizers] == [("Adam", True)]
    assert facts.model is not None
    assert (facts.model.parameters, facts.model.dtypes) == (18, {"float32": 18})
    assert facts.sampling is not None
    assert (facts.sampling.shuffle, facts.sampling.distributed) == (True, False)
    assert facts.sampling.epochs_alike == 1
    assert "one" not in facts.missing
    assert facts.parallel is None
    assert "no process group" in facts.missing["parallel"]
    if not torch.cuda.is_available():
        assert facts.allocator is None
        assert "CUDA is not in use" in facts.missing["allocator"]


SEEDED = (
    PREAMBLE
    + """
import random
def prepare(worker):
    random.seed(5)

net = nn.Linear(8, 2)
optimizer = torch.optim.SGD(net.parameters(), 0.01)
for epoch in range(4):
    torch.manual_seed(7 if epoch else 3)
    loader = DataLoader(data, batch_size=4, shuffle=True, num_workers=WORKERS, worker_init_fn=prepare)
    for x, y in loader:
        step(net, optimizer, x, y)
time.sleep(2)  # on a busy host the last reading may be cut short: one is due meanwhile
"""
)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_loader_built_anew_at_each_epoch_and_seeded_alike(hub: "Hub", workers: int) -> None:
    outcome = hub.train(SEEDED.replace("WORKERS", str(workers)))
    assert outcome.exit_code == 0, outcome.stderr
    told = last(outcome).sampling
    assert told is not None, last(outcome).missing
    assert (told.epochs_begun, told.epochs_alike) == (4, 3)
    assert told.workers_alike == (["random"] if workers else None)
    assert (told.worker_init_s is not None) is bool(workers)


COPIED = (
    PREAMBLE
    + """
import random
class Noisy(torch.utils.data.Dataset):
    def __init__(self):
        self.chance = random.Random(0)
    def __len__(self):
        return 16
    def __getitem__(self, index):
        return data[index][0] + self.chance.random(), data[index][1]

def reseed(worker):
    time.sleep(0.2)
    torch.utils.data.get_worker_info().dataset.chance.seed(torch.initial_seed())

def main():
    net = nn.Linear(8, 2)
    optimizer = torch.optim.SGD(net.parameters(), 0.01)
    how = dict(worker_init_fn=PREPARE, multiprocessing_context="START", persistent_workers=KEPT)
    loader = DataLoader(Noisy(), batch_size=4, num_workers=2, **how)
    for epoch in range(2):
        for x, y in loader:
            step(net, optimizer, x, y)
    time.sleep(2)  # on a busy host the last reading may be cut short: one is due meanwhile

if __name__ == "__main__":
    main()
"""
)


@pytest.mark.parametrize(
    ("prepare", "copied", "start", "kept"),
    [
        ("int", ["Noisy.chance"], "fork", False),
        ("reseed", [], "fork", True),
        ("int", ["Noisy.chance"], "spawn", True),
        ("reseed", [], "forkserver", False),
    ],
)
def test_a_generator_that_workers_have_copies_of(
    hub: "Hub", prepare: str, copied: list[str], start: str, kept: bool
) -> None:
    script = COPIED.replace("PREPARE", prepare).replace("START", start).replace("KEPT", str(kept))
    outcome = hub.train(script)
    assert outcome.exit_code == 0, outcome.stderr
    told = last(outcome).sampling
    assert told is not None, last(outcome).missing
    assert [f"{each.owner}.{each.attribute}" for each in told.copied_generators] == copied
    assert [each.workers_alike for each in told.copied_generators] == [2] * len(copied)
    assert told.workers_alike == []
    least_s = 0.2 if prepare == "reseed" else 0.0
    assert told.worker_init_s is not None
    assert least_s <= told.worker_init_s < least_s + 2, "what starting an interpreter takes is no part of it"


PUTTING = (
    PREAMBLE
    + """
def put_together(rows):
    spent = time.perf_counter()
    while time.perf_counter() - spent < 0.01:
        pass
    return torch.stack([x for x, _ in rows]), torch.stack([y for _, y in rows])

net = nn.Linear(8, 2)
optimizer = torch.optim.SGD(net.parameters(), 0.01)
for epoch in range(2):
    for x, y in DataLoader(data, batch_size=4, num_workers=WORKERS, collate_fn=put_together):
        step(net, optimizer, x, y)
time.sleep(2)  # on a busy host the last reading may be cut short: one is due meanwhile
"""
)


@pytest.mark.parametrize("workers", [0, 2])
def test_what_making_batches_takes(hub: "Hub", workers: int) -> None:
    outcome = hub.train(PUTTING.replace("WORKERS", str(workers)))
    assert outcome.exit_code == 0, outcome.stderr
    assert outcome.of(Goodbye)[0].errors == 0
    told = last(outcome).loading
    assert told is not None, last(outcome).missing
    assert (told.loader, told.batches) == (0, 24)
    assert told.collate_s >= 24 * 0.01
    assert told.fetch_s > 0


SPAWNED = (
    PREAMBLE
    + """
def main():
    net = nn.Linear(8, 2)
    optimizer = torch.optim.SGD(net.parameters(), 0.01)
    for x, y in DataLoader(data, batch_size=4, num_workers=1, multiprocessing_context="spawn"):
        step(net, optimizer, x, y)
    time.sleep(2)  # on a busy host the last reading may be cut short: one is due meanwhile

if __name__ == "__main__":
    main()
"""
)


def test_workers_that_do_not_share_memory_are_not_timed(hub: "Hub") -> None:
    outcome = hub.train(SPAWNED)
    assert outcome.exit_code == 0, outcome.stderr
    assert outcome.of(Goodbye)[0].errors == 0
    assert last(outcome).loading is None
    assert "not forked" in last(outcome).missing["loading"]


LOOKED_AT = (
    PREAMBLE
    + """
from torch.utils.data.distributed import DistributedSampler
sampler = DistributedSampler(data, num_replicas=2, rank=0)
loader = DataLoader(data, batch_size=4, sampler=sampler)
x, y = next(iter(loader))
net = nn.Linear(x.shape[1], 2)
optimizer = torch.optim.SGD(net.parameters(), 0.01)
for epoch in range(EPOCHS):
    sampler.set_epoch(epoch)
    for x, y in loader:
        step(net, optimizer, x, y)
time.sleep(2)  # on a busy host the last reading may be cut short: one is due meanwhile
"""
)


@pytest.mark.parametrize("epochs", [1, 2])
def test_a_look_at_the_first_batch_is_no_epoch(hub: "Hub", epochs: int) -> None:
    outcome = hub.train(LOOKED_AT.replace("EPOCHS", str(epochs)))
    assert outcome.exit_code == 0, outcome.stderr
    told = last(outcome).sampling
    assert told is not None, last(outcome).missing
    assert (told.epochs_begun, told.set_epoch) == (epochs, True if epochs > 1 else None)
