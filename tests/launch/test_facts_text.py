"""A rank's facts as lines, from the structs that the summary is made of."""

from typing import Any

import msgspec

from perftui.ipc.facts import (
    AllocatorFacts,
    CompileFacts,
    DdpFacts,
    FsdpFacts,
    GcFacts,
    ModelFacts,
    OptimizerFacts,
    ParallelFacts,
    RankFacts,
)
from perftui.ipc.loader_facts import SamplingFacts
from perftui.trainer.launch.facts_text import facts_lines


def lines(facts: RankFacts) -> list[str]:
    told: dict[str, Any] = msgspec.to_builtins(facts)
    return facts_lines(told)


def test_nothing_known_is_nothing_said() -> None:
    assert lines(RankFacts()) == []
    assert facts_lines({}) == []


def test_what_is_known_is_said_in_order() -> None:
    facts = RankFacts(
        model=ModelFacts(
            tensors=62,
            parameters=11_689_512,
            mib=44.6,
            dtypes={"float32": 11_689_512},
            devices={"cuda:0": 11_689_512},
            four_d=20,
            channels_last=1.0,
            grad_scaler=True,
        ),
        optimizers=[
            OptimizerFacts(
                kind="AdamW", groups=2, tensors=62, parameters=1, flags={"fused": True, "foreach": None}
            ),
            OptimizerFacts(kind="SGD", groups=1, tensors=1, parameters=1),
        ],
        parallel=ParallelFacts(
            backend="nccl",
            world_size=8,
            ddp=DdpFacts(
                modules=1,
                bucket_cap_mb=25.0,
                gradient_as_bucket_view=True,
                static_graph=False,
                find_unused_parameters=True,
                comm_hook=None,
                backend="nccl",
                world_size=8,
                backwards_per_step=4.0,
                syncs_per_step=1.0,
                all_reduces_per_step=2.0,
            ),
            fsdp=FsdpFacts(
                version=2,
                units=1,
                all_gathers_per_step=2.0,
                reduce_scatters_per_step=1.0,
                reshard_after_forward=False,
                missing={"comm_exposed": "FSDP: needs a profile window"},
            ),
            data_parallel=True,
        ),
        sampling=SamplingFacts(
            loader=0, sampler="DistributedSampler", shuffle=True, distributed=True, set_epoch=False
        ),
        compile=CompileFacts(graphs=12, recompiles=1, graph_breaks=2, limit_hits=0, compile_s=41.26),
        gc=GcFacts(
            counts=[100, 9, 1],
            total_ms=[10.0, 20.0, 436.0],
            longest_ms=436.2,
            long_pauses=1,
            enabled=True,
            threshold=[700, 10, 10],
        ),
        allocator=AllocatorFacts(
            device="cuda:0",
            allocated_mib=60_000.4,
            reserved_mib=70_123.0,
            inactive_split_mib=1.0,
            peak_allocated_mib=1.0,
            peak_reserved_mib=1.0,
            alloc_retries=3,
            ooms=1,
        ),
    )
    assert lines(facts) == [
        "model     11.7 M parameters, float32, on cuda:0, 100% channels_last, GradScaler",
        "optimizer AdamW (fused), SGD",
        "parallel  nccl, 8 ranks, DDP with buckets of 25 MiB, gradient_as_bucket_view,"
        " find_unused_parameters, gradients summed in 1 of 4 backwards a step, 2 all-reduces a step,"
        " FSDP2 of 1 unit, 2 all-gathers and 1 reduce-scatters a step, not resharded after the forward,"
        " exposed communication — (needs a profile window), DataParallel",
        "sampler   DistributedSampler, shuffled, set_epoch is not called",
        "compile   12 graphs, 1 recompilation, 2 graph breaks, 41.3 s",
        "gc        110 collections, 0.47 s, the longest 436 ms",
        "memory    60,000 MiB in use, 70,123 MiB reserved on cuda:0, 3 retries, 1 times out of memory",
    ]


def test_figures_that_were_not_measured_are_left_out() -> None:
    facts = RankFacts(
        compile=CompileFacts(frames=1),
        gc=GcFacts(
            counts=[1, 0, 0], total_ms=[0.0] * 3, longest_ms=0.0, long_pauses=0, enabled=True, threshold=[1]
        ),
        sampling=SamplingFacts(loader=0, sampler="Own"),
    )
    assert lines(facts) == ["sampler   Own, order not known", "gc        1 collection, 0.00 s"]
