"""What settings need, on what a rank has told: a reason where it is known to be missing, else nothing."""

import msgspec.structs
import pytest

from perftui.ipc.facts import (
    BatchFacts,
    BatchSignature,
    CompileFacts,
    DdpFacts,
    ModelFacts,
    OptimizerFacts,
    ParallelFacts,
    RankFacts,
    TensorFacts,
)
from perftui.ipc.prerequisites import PREREQUISITES, Told, why_idle, why_impossible
from perftui.ipc.settings import TABLE, Settings
from tests.made_loader import made_loader

MODEL = ModelFacts(tensors=2, parameters=10, mib=1, dtypes={"bfloat16": 10}, devices={"cpu": 10})
IMAGES = ModelFacts(tensors=2, parameters=10, mib=1, dtypes={"float32": 10}, devices={"cuda:0": 10}, four_d=1)
STREAM = made_loader(batches_per_epoch=None, iterable=True)
SGD = OptimizerFacts(kind="SGD", groups=1, tensors=1, parameters=1, flags={"foreach": None})
DDP = DdpFacts(
    modules=1, bucket_cap_mb=25, gradient_as_bucket_view=False, static_graph=False,
    find_unused_parameters=False, comm_hook=None, backend="gloo", world_size=2,
)  # fmt: skip


def batches(shapes: int) -> RankFacts:
    return RankFacts(batch=BatchFacts(looked=4, newest=BatchSignature(tensors=[]), distinct_shapes=shapes))


def on(device: str) -> RankFacts:
    newest = BatchSignature(tensors=[TensorFacts(shape=[4], dtype="float32", device=device)])
    return RankFacts(batch=BatchFacts(looked=1, newest=newest, distinct_shapes=1))


MAPPED = msgspec.structs.replace(STREAM, iterable=False)
OF_TWO = msgspec.structs.replace(STREAM, num_workers=2)
OWN_WORKERS = msgspec.structs.replace(MAPPED, num_workers=2)


@pytest.mark.parametrize(
    ("asked", "told", "key"),
    [
        ({"precision.tf32": True}, Told(device="cpu"), "gpu"),
        ({"debug.launch_blocking": False}, Told(device="cpu"), "gpu"),
        ({"precision.autocast": "bf16"}, Told(facts=RankFacts(model=MODEL)), "float32"),
        ({"layout.channels_last": True}, Told(facts=RankFacts(model=MODEL)), "four_d"),
        ({"compile.mode": "default"}, Told(facts=RankFacts(compile=CompileFacts(graphs=3))), "not_compiled"),
        ({"optimizer.fused": True}, Told(facts=RankFacts(optimizers=[SGD])), "optimizer_argument"),
        ({"ddp.static_graph": True}, Told(facts=RankFacts(parallel=ParallelFacts())), "ddp"),
        ({"ddp.static_graph": True}, Told(facts=RankFacts(missing={"parallel": "alone"})), "ddp"),
        ({"loader.prefetch_factor": 4}, Told(in_force={"loader.num_workers": 0}), "workers"),
        ({"loader[1].persistent_workers": True, "loader[1].num_workers": 0}, Told(), "workers"),
        ({"loader.num_workers": 2}, Told(loader=STREAM), "sharded_stream"),
        ({"loader.num_workers": 8}, Told(loader=OF_TWO), "sharded_stream"),
        ({"loader.num_workers": 0}, Told(loader=OF_TWO), "sharded_stream"),
        ({"loader.num_workers": 2}, Told(loader=MAPPED, facts=on("cuda:0")), "host_batches"),
        ({"loader.pin_memory": True}, Told(loader=MAPPED, facts=on("cuda:1")), "host_batches"),
        ({"loader.pin_memory": True}, Told(loader=OWN_WORKERS, facts=on("cuda:0")), "host_batches"),
        ({"torchrun.nproc_per_node": 2}, Told(command=("python", "a.py")), "torchrun"),
    ],
)
def test_what_is_missing_is_said(asked: Settings, told: Told, key: str) -> None:
    assert why_impossible(asked, told)[next(iter(asked))] == PREREQUISITES[key].reason


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"precision.tf32": True}, Told(device="cuda:0", facts=RankFacts(model=IMAGES))),
        ({"precision.tf32": False}, Told(device="cpu")),
        ({"precision.autocast": "off"}, Told(facts=RankFacts(model=MODEL))),
        ({"compile.mode": "off"}, Told(facts=RankFacts(compile=CompileFacts(graphs=3)))),
        ({"compile.mode": "max-autotune"}, Told(in_force={"compile.mode": "default"})),
        ({"optimizer.foreach": True}, Told(facts=RankFacts(optimizers=[SGD]))),
        ({"ddp.static_graph": True}, Told(facts=RankFacts(parallel=ParallelFacts(ddp=DDP)))),
        ({"loader.prefetch_factor": 4, "loader.num_workers": 2}, Told(in_force={"loader.num_workers": 0})),
        ({"loader.persistent_workers": False}, Told(in_force={"loader.num_workers": 0})),
        ({"loader[1].num_workers": 2}, Told(loader=STREAM)),
        ({"loader.num_workers": 2}, Told(loader=OF_TWO)),
        ({"loader.num_workers": 8}, Told(loader=msgspec.structs.replace(OF_TWO, sharded=True))),
        ({"loader.num_workers": 2, "loader.pin_memory": True}, Told(loader=MAPPED, facts=on("cpu"))),
        ({"loader.num_workers": 0, "loader.pin_memory": False}, Told(loader=MAPPED, facts=on("cuda:0"))),
        ({"loader.num_workers": 4}, Told(loader=OWN_WORKERS, facts=on("cuda:0"))),
        ({"loader[1].num_workers": 2}, Told(loader=MAPPED, facts=on("cuda:0"))),
        ({"loader.num_workers": 2}, Told(loader=MAPPED, facts=batches(1))),
        ({"torchrun.nproc_per_node": 2}, Told(command=("torchrun", "a.py"))),
        ({"env.OMP_NUM_THREADS": "1"}, Told()),
    ],
)
def test_what_is_there_or_was_not_asked_for_is_not(asked: Settings, told: Told) -> None:
    assert why_impossible(asked, told) == {}


def test_nothing_told_refuses_nothing() -> None:
    by_kind: Settings = {"int": 2, "bool": True, "text": "inductor"}
    everything = {row.name: row.choices[-1] if row.choices else by_kind[row.kind] for row in TABLE}
    assert why_impossible(everything, Told()) == {}
    assert why_idle(everything, Told()) == {}


def test_changing_shapes_make_cuda_graphs_idle_and_not_impossible() -> None:
    both: list[Settings] = [{"compile.mode": "reduce-overhead"}, {"cudnn.benchmark": True}]
    for asked in both:
        changing = Told(facts=batches(5))
        assert why_idle(asked, changing) == {next(iter(asked)): PREREQUISITES["static_shapes"].reason}
        assert why_impossible(asked, changing) == {}
        assert why_idle(asked, Told(facts=batches(1))) == {}
    assert why_idle({"compile.mode": "default"}, Told(facts=batches(5))) == {}
