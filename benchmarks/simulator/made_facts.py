"""What a made-up rank tells beside its steps: facts, loader, settings, of the size that real ones have."""

from functools import lru_cache

import msgspec

from perftui.ipc.facts import (
    AllocatorFacts,
    BackendFacts,
    BatchFacts,
    BatchSignature,
    CompileFacts,
    DdpFacts,
    GcFacts,
    ModelFacts,
    OptimizerFacts,
    ParallelFacts,
    PhaseFacts,
    ProcessFacts,
    RankFacts,
    StackFacts,
    StackPlace,
    TensorFacts,
)
from perftui.ipc.loader_facts import SamplingFacts
from perftui.ipc.messages import LoaderFacts
from perftui.ipc.settings import SettingValue

WORKERS = 8
BATCH = 128
BATCHES_PER_EPOCH = 500
SETTINGS: dict[str, SettingValue] = {
    "loader.num_workers": WORKERS,
    "loader.pin_memory": True,
    "loader.persistent_workers": True,
    "loader.prefetch_factor": 2,
    "compile.mode": "off",
    "precision.tf32": True,
    "cudnn.benchmark": True,
    "ddp.bucket_cap_mb": 25,
    "ddp.gradient_as_bucket_view": True,
    "ddp.static_graph": False,
}
_STARTING_S = 4.0
_LINES = ("self.layer1(x)", "loss.backward()", "optimizer.step()", "images = images.to(device)")


def made_loader(rank: int) -> LoaderFacts:
    """Return what its loader says of itself."""
    return LoaderFacts(
        index=0,
        num_workers=WORKERS,
        batch_size=BATCH,
        prefetch_factor=2,
        persistent_workers=True,
        pin_memory=True,
        multiprocessing_context=None,
        in_order=True,
        batches_per_epoch=BATCHES_PER_EPOCH,
        iterable=False,
        dataset="ImageFolder",
        worker_pids=[2_000_000 + rank * WORKERS + number for number in range(WORKERS)],
        worker_start_ticks=[1] * WORKERS,
    )


def passing_facts(second: int, began_ns: int, now_ns: int) -> RankFacts:
    """Return what changes from second to second."""
    passed_s = (now_ns - began_ns) / 1e9
    phases = PhaseFacts(
        phase="training",
        since_ns=began_ns + int(_STARTING_S * 1e9),
        at_ns=now_ns,
        began_ns=began_ns,
        newest_ns=now_ns,
        seconds={"starting": min(_STARTING_S, passed_s), "training": max(0.0, passed_s - _STARTING_S)},
    )
    return msgspec.structs.replace(_of_all_ranks(second), phases=phases)


@lru_cache(maxsize=4)
def _of_all_ranks(second: int) -> RankFacts:
    """Return what all ranks tell alike in a second: made once for all of them."""
    looks = 10 * (second + 1)
    return RankFacts(
        gc=GcFacts(
            counts=[40 * second, 4 * second, second // 9],
            total_ms=[0.4 * second, 0.3 * second, 0.2 * second],
            longest_ms=3.1,
            long_pauses=0,
            enabled=True,
            threshold=[700, 10, 10],
        ),
        allocator=AllocatorFacts(
            device="cuda:0",
            allocated_mib=18_432.0 + second % 7,
            reserved_mib=24_576.0,
            inactive_split_mib=410.0,
            peak_allocated_mib=22_010.0,
            peak_reserved_mib=24_576.0,
            alloc_retries=0,
            ooms=0,
            device_allocs=412,
            device_frees=0,
        ),
        process=ProcessFacts(
            rss_mib=4_210.0 + second % 5,
            threads=71,
            voluntary_switches=900 * second,
            involuntary_switches=11 * second,
        ),
        stacks=StackFacts(
            looks=looks,
            areas={"model": looks // 2, "backward": looks // 4, "script": looks - looks // 2 - looks // 4},
            places=[
                StackPlace(area="model", at=f"/code/train.py:{100 + place} forward", line=_LINES[place % 4],
                           count=looks // 24)
                for place in range(24)
            ],
        ),
    )  # fmt: skip


def standing_facts(rank: int, world_size: int) -> RankFacts:
    """Return what hardly ever changes."""
    return RankFacts(
        compile=CompileFacts(frames=0, graphs=0, recompiles=0, graph_breaks=0, limit_hits=0, failures=0),
        backends=BackendFacts(
            cudnn_benchmark=True, cudnn_deterministic=False, cudnn_allow_tf32=True, matmul_allow_tf32=True,
            float32_matmul_precision="high", sdp=["flash", "mem_efficient", "math"], deterministic=False,
            anomaly=False, num_threads=8, interop_threads=8, profiler=False,
        ),
        environment={"OMP_NUM_THREADS": "8", "NCCL_DEBUG": "WARN"},
        parallel=ParallelFacts(
            backend="nccl",
            world_size=world_size,
            ddp=DdpFacts(
                modules=1, bucket_cap_mb=25.0, gradient_as_bucket_view=True, static_graph=False,
                find_unused_parameters=False, comm_hook=None, backend="nccl", world_size=world_size,
                buckets_mib=[25.0] * 3 + [11.2], backwards_per_step=1.0, syncs_per_step=1.0,
                all_reduces_per_step=4.0,
            ),
        ) if world_size > 1 else ParallelFacts(),
        optimizers=[
            OptimizerFacts(kind="SGD", groups=1, tensors=161, parameters=25_557_032, lr=0.1,
                           flags={"foreach": None, "fused": True})
        ],
        model=ModelFacts(
            tensors=161, parameters=25_557_032, mib=97.5, dtypes={"float32": 25_557_032},
            devices={"cuda:0": 25_557_032}, four_d=53, channels_last=1.0,
        ),
        sampling=SamplingFacts(
            loader=0, sampler="DistributedSampler", shuffle=True, distributed=world_size > 1,
            num_replicas=world_size, rank=rank, seed=0, epochs_begun=1, epoch=0, set_epoch=True,
        ),
        batch=BatchFacts(
            looked=3,
            newest=BatchSignature(
                tensors=[
                    TensorFacts(shape=[BATCH, 3, 224, 224], dtype="float32", device="cpu", pinned=True),
                    TensorFacts(shape=[BATCH], dtype="int64", device="cpu", pinned=True),
                ]
            ),
            distinct_shapes=1,
        ),
    )  # fmt: skip
