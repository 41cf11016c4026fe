"""What real trainings tell beside their steps, seen from the hub's end of the socket."""

import sys
from typing import TYPE_CHECKING

import pytest
import torch

from perftui.ipc.facts import FsdpFacts, RankFacts, merged
from perftui.ipc.messages import FLAG_COMPILING, Facts, Goodbye, RankEvent

if TYPE_CHECKING:
    from tests.probe.conftest import Hub, Outcome

pytestmark = [pytest.mark.torch, pytest.mark.slow]

PREAMBLE = """
import gc, os, sys, time, torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
torch.set_num_threads(1)
data = TensorDataset(torch.randn(48, 8), torch.zeros(48, dtype=torch.long))

def step(model, optimizer, x, y):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""

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


def last(outcome: "Outcome", rank: int = 0) -> RankFacts:
    """All that a rank has told, as the hub keeps it."""
    facts = RankFacts()
    for message in outcome.of(Facts, rank):
        facts = merged(facts, message.facts)
    return facts


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
    assert facts.optimizers is not None
    assert [(one.kind, one.flags["amsgrad"]) for one in facts.optimizers] == [("Adam", True)]
    assert facts.model is not None
    assert (facts.model.parameters, facts.model.dtypes) == (18, {"float32": 18})
    assert facts.sampling is not None
    assert (facts.sampling.shuffle, facts.sampling.distributed) == (True, False)
    assert "one" not in facts.missing
    assert facts.parallel is None
    assert "no process group" in facts.missing["parallel"]
    if not torch.cuda.is_available():
        assert facts.allocator is None
        assert "CUDA is not in use" in facts.missing["allocator"]


PARALLEL = (
    PREAMBLE
    + """
import torch.distributed as dist
from torch.utils.data.distributed import DistributedSampler
dist.init_process_group("gloo")
net = nn.Sequential(nn.Linear(8, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 2))
net = wrap(net)
optimizer = torch.optim.SGD(net.parameters(), 0.1)
sampler = DistributedSampler(data, seed=5)
for epoch in range(2):
    for x, y in DataLoader(data, batch_size=4, sampler=sampler):
        step(net, optimizer, x, y)
"""
)

DDP = """
def wrap(net):
    return nn.parallel.DistributedDataParallel(
        net, bucket_cap_mb=0.5, gradient_as_bucket_view=True, find_unused_parameters=True
    )
"""
FSDP1 = """
def wrap(net):
    from torch.distributed.fsdp import FullyShardedDataParallel, ShardingStrategy
    def shard(module):
        return FullyShardedDataParallel(
            module,
            device_id=torch.device("cpu"),
            sharding_strategy=ShardingStrategy.SHARD_GRAD_OP,
            use_orig_params=True,
        )
    net[2] = shard(net[2])
    return shard(net)
"""
FSDP2 = """
def wrap(net):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    mesh = init_device_mesh("cpu", (2,))
    fully_shard(net[2], mesh=mesh)
    fully_shard(net, mesh=mesh)
    return net
"""
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]


def parallel_training(hub: "Hub", wrap: str) -> "Outcome":
    outcome = hub.train(wrap + PARALLEL, launcher=TORCHRUN)
    assert outcome.exit_code == 0, outcome.stderr
    for rank in (0, 1):
        assert [goodbye.errors for goodbye in outcome.of(Goodbye, rank)] == [0]
    return outcome


def test_two_ranks_tell_of_ddp_and_of_their_sampler(hub: "Hub") -> None:
    outcome = parallel_training(hub, DDP)
    for rank in (0, 1):
        facts = last(outcome, rank)
        assert facts.parallel is not None
        assert (facts.parallel.backend, facts.parallel.world_size) == ("gloo", 2)
        ddp = facts.parallel.ddp
        assert ddp is not None
        assert (ddp.modules, ddp.bucket_cap_mb, ddp.backend, ddp.world_size) == (1, 0.5, "gloo", 2)
        assert (ddp.gradient_as_bucket_view, ddp.find_unused_parameters, ddp.static_graph) == (
            True,
            True,
            False,
        )
        assert ddp.comm_hook is None
        assert ddp.buckets_mib is not None
        parameters_mib = (8 * 512 + 512 + 512 * 512 + 512 + 512 * 2 + 2) * 4 / 2**20
        assert sum(ddp.buckets_mib) == pytest.approx(parameters_mib, abs=0.01)
        assert facts.parallel.fsdp is None
        assert facts.sampling is not None
        assert (facts.sampling.num_replicas, facts.sampling.rank, facts.sampling.seed) == (2, rank, 5)
        assert (facts.sampling.epochs_begun, facts.sampling.set_epoch) == (2, False)


def test_the_older_sharding_is_told(hub: "Hub") -> None:
    facts = last(parallel_training(hub, FSDP1))
    assert facts.parallel is not None
    assert facts.parallel.fsdp == FsdpFacts(version=1, units=2, sharding="SHARD_GRAD_OP")
    assert facts.parallel.ddp is None


@pytest.mark.skipif(
    tuple(int(part) for part in torch.__version__.split(".")[:2]) < (2, 7),
    reason="older fully_shard needs a GPU, or is not public",
)
def test_the_newer_sharding_is_told(hub: "Hub") -> None:
    facts = last(parallel_training(hub, FSDP2))
    assert facts.parallel is not None
    assert facts.parallel.fsdp == FsdpFacts(version=2, units=2)
    assert facts.model is not None
    assert facts.model.sharded == facts.model.tensors == 6
