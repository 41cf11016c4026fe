"""What two ranks tell of how they work together: DDP, FSDP, synchronisations of gradients."""

import sys
from typing import TYPE_CHECKING

import pytest
import torch

from perftui.ipc.facts import FsdpFacts
from perftui.ipc.messages import Goodbye
from tests.probe.told_facts import PREAMBLE, last

if TYPE_CHECKING:
    from tests.probe.conftest import Hub, Outcome

pytestmark = [pytest.mark.torch, pytest.mark.slow]

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
with torch.no_grad():  # no all-gather of it counts
    for x, y in DataLoader(data, batch_size=4):
        net(x)
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
    window = {"comm_exposed": "FSDP: needs a profile window"}
    assert facts.parallel.fsdp == FsdpFacts(version=1, units=2, sharding="SHARD_GRAD_OP", missing=window)
    assert facts.parallel.ddp is None


needs_fully_shard = pytest.mark.skipif(
    tuple(int(part) for part in torch.__version__.split(".")[:2]) < (2, 7),
    reason="older fully_shard needs a GPU, or is not public",
)


@needs_fully_shard
def test_the_newer_sharding_is_told(hub: "Hub") -> None:
    facts = last(parallel_training(hub, FSDP2))
    assert facts.parallel is not None
    assert facts.parallel.fsdp == FsdpFacts(
        version=2,
        units=2,
        reshard_after_forward=True,
        shard_size=2,
        cpu_offload=False,
        all_gathers_per_step=3.0,  # each unit for the forward; for the backward all but the root
        reduce_scatters_per_step=2.0,
        missing={"comm_exposed": "FSDP: needs a profile window"},
    )
    assert facts.model is not None
    assert facts.model.sharded == facts.model.tensors == 6


ACCUMULATED = (
    DDP
    + PREAMBLE
    + """
from contextlib import nullcontext
torch.distributed.init_process_group("gloo")
net = wrap(nn.Sequential(nn.Linear(8, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 2)))
optimizer = torch.optim.SGD(net.parameters(), 0.1)
for epoch in range(3):
    for number, (x, y) in enumerate(DataLoader(data, batch_size=4)):
        last = number % 3 == 2
        with nullcontext() if last or SYNC else net.no_sync():
            nn.functional.cross_entropy(net(x), y).backward()
        if last:
            optimizer.step()
            optimizer.zero_grad()
"""
)


@pytest.mark.parametrize(("sync", "syncs"), [(False, 1.0), (True, 3.0)])
def test_accumulation_with_and_without_no_sync(hub: "Hub", sync: bool, syncs: float) -> None:
    outcome = hub.train(f"SYNC = {sync}\n" + ACCUMULATED, launcher=TORCHRUN, PERFTUI_PHASES="3")
    assert outcome.exit_code == 0, outcome.stderr
    assert outcome.column("micro_batches") == [3] * 12
    for rank in (0, 1):
        parallel = last(outcome, rank).parallel
        assert parallel is not None
        assert parallel.ddp is not None
        ddp, buckets = parallel.ddp, parallel.ddp.buckets_mib
        assert buckets is not None
        assert (ddp.backwards_per_step, ddp.syncs_per_step) == (3.0, syncs)
        assert ddp.all_reduces_per_step == syncs * len(buckets)


@needs_fully_shard
def test_accumulation_under_sharding_scatters_once_a_step(hub: "Hub") -> None:
    script = FSDP2 + ACCUMULATED.removeprefix(DDP).replace(
        "with nullcontext() if last or SYNC else net.no_sync():",
        "net.set_requires_gradient_sync(last)\n        if True:",
    )
    outcome = hub.train(script, launcher=TORCHRUN)
    assert outcome.exit_code == 0, outcome.stderr
    for rank in (0, 1):
        parallel = last(outcome, rank).parallel
        assert parallel is not None
        assert parallel.fsdp is not None
        assert parallel.fsdp.reduce_scatters_per_step == 2.0
