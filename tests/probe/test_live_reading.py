"""Switches, environment, optimizers, model and allocator: what is read is what is in force."""

import gc
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import torch
from torch import nn

from perftui.ipc.facts import AllocatorFacts
from perftui.trainer.probe.allocator_reading import NOT_IN_USE, AllocatorReader, Stats
from perftui.trainer.probe.backend_reading import read_backends, read_tracer
from perftui.trainer.probe.border import Border
from perftui.trainer.probe.environment_reading import read_environment, read_own_environment
from perftui.trainer.probe.live_objects import Living
from perftui.trainer.probe.model_reading import read_model
from perftui.trainer.probe.optimizer_reading import OptimizerReader

pytestmark = pytest.mark.torch


@pytest.fixture
def switches() -> Iterator[None]:
    """All switches back to where they were."""
    backends: Any = torch.backends
    before = (
        backends.cudnn.benchmark,
        backends.cudnn.deterministic,
        torch.get_float32_matmul_precision(),
        torch.is_anomaly_enabled(),
        backends.cuda.flash_sdp_enabled(),
    )
    yield
    backends.cudnn.benchmark, backends.cudnn.deterministic = before[:2]
    torch.set_float32_matmul_precision(before[2])
    torch.autograd.set_detect_anomaly(before[3])
    torch.backends.cuda.enable_flash_sdp(before[4])
    torch.use_deterministic_algorithms(False)


@pytest.mark.parametrize("on", [True, False])
def test_switches_are_read_from_torch(switches: None, on: bool) -> None:
    torch.backends.cudnn.benchmark = on
    torch.backends.cudnn.deterministic = on
    torch.set_float32_matmul_precision("high" if on else "highest")
    torch.autograd.set_detect_anomaly(on, check_nan=on)
    torch.backends.cuda.enable_flash_sdp(on)
    torch.use_deterministic_algorithms(on, warn_only=on)
    facts = read_backends(own_window=False)
    assert (facts.cudnn_benchmark, facts.cudnn_deterministic) == (on, on)
    assert facts.float32_matmul_precision == ("high" if on else "highest")
    assert facts.matmul_allow_tf32 is on
    assert (facts.anomaly, facts.anomaly_check_nan) == (on, on)
    assert facts.sdp is not None
    assert ("flash" in facts.sdp) is on
    assert "math" in facts.sdp
    assert (facts.deterministic, facts.deterministic_warn_only) == (on, on)
    assert facts.num_threads == torch.get_num_threads()
    assert facts.autocast is None
    assert "thread" in facts.missing["autocast"]


def test_anomaly_detection_is_not_known_while_torch_compiles(switches: None) -> None:
    """It is switched on by torch itself while it traces a model."""
    answers = iter([False, True])
    torch.autograd.set_detect_anomaly(True)
    begun = read_backends(own_window=False, compiling=lambda: next(answers))
    assert begun.anomaly is None
    assert "compile" in begun.missing["anomaly"]
    assert read_backends(own_window=False, compiling=lambda: True).anomaly is None
    assert read_backends(own_window=False, compiling=lambda: False).anomaly is True


def test_a_running_profiler_is_seen_unless_it_may_be_our_own() -> None:
    assert read_backends(own_window=False).profiler is False
    with torch.autograd.profiler.profile():
        assert read_backends(own_window=False).profiler is True
        ours = read_backends(own_window=True)
    assert ours.profiler is None
    assert "own" in ours.missing["profiler"]


MIXED = """
import torch
from perftui.trainer.probe.backend_reading import read_backends
torch.backends.fp32_precision = "tf32"
facts = read_backends(own_window=False)
print(facts.fp32_precision, facts.matmul_allow_tf32, facts.cudnn_allow_tf32, facts.missing.keys())
torch.backends.cuda.matmul.fp32_precision = "ieee"
print(read_backends(own_window=False).matmul_allow_tf32)
"""


@pytest.mark.skipif(
    not hasattr(torch.backends, "fp32_precision"), reason="torch 2.9 brought the new switches"
)
def test_the_newer_switches_speak_where_the_older_raise() -> None:
    done = subprocess.run([sys.executable, "-c", MIXED], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    first, second = done.stdout.splitlines()
    assert first.startswith("tf32 True True ")
    assert second == "False"


def test_what_traces_python_is_named() -> None:
    def trace(_frame: FrameType, _event: str, _argument: object) -> None:
        pass

    before = threading.gettrace()
    threading.settrace(trace)
    try:
        assert read_tracer() == __name__.partition(".")[0]
    finally:
        threading.settrace(before)


def test_of_the_environment_only_what_is_on_the_list_is_told() -> None:
    environment = {
        "OMP_NUM_THREADS": "4",
        "NCCL_DEBUG": "INFO",
        "NCCL_P2P_DISABLE": "1",
        "CUDA_LAUNCH_BLOCKING": "1",
        "TORCH_DISTRIBUTED_DEBUG": "DETAIL",
        "PYTORCH_ALLOC_CONF": "x" * 1000,
        "TORCH_COMPILE_DISABLE": "1",
        "MY_OMP_NUM_THREADS": "5",
        "OMP_NUM_THREADS_TOKEN": "secret",
        "WANDB_API_KEY": "secret",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "PATH": "/bin",
        "HOME": "/home/somebody",
    }
    read = read_environment(environment)
    assert list(read) == [
        "CUDA_LAUNCH_BLOCKING",
        "NCCL_DEBUG",
        "NCCL_P2P_DISABLE",
        "OMP_NUM_THREADS",
        "PYTORCH_ALLOC_CONF",
        "TORCH_COMPILE_DISABLE",
        "TORCH_DISTRIBUTED_DEBUG",
    ]
    assert read["NCCL_DEBUG"] == "INFO"
    assert read["PYTORCH_ALLOC_CONF"] == "x" * 200


def test_a_variable_that_the_script_sets_itself_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_LAUNCH_BLOCKING", "1")
    assert read_environment()["CUDA_LAUNCH_BLOCKING"] == "1"
    monkeypatch.delenv("CUDA_LAUNCH_BLOCKING")
    assert "CUDA_LAUNCH_BLOCKING" not in read_environment()


def test_variables_that_the_process_did_not_start_with_are_its_own(tmp_path: Path) -> None:
    started_with = tmp_path / "environ"
    started_with.write_bytes(b"OMP_NUM_THREADS=4\0MKL_NUM_THREADS=4\0NOT_SHOWN=1\0")
    now = {
        "OMP_NUM_THREADS": "4",
        "MKL_NUM_THREADS": "8",
        "OPENBLAS_NUM_THREADS": "16",
        "NOT_SHOWN": "2",
    }
    own, _ = read_own_environment(now, started_with)
    assert own == ["MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"]
    assert read_own_environment(now, tmp_path / "none") == (
        None,
        f"{tmp_path}/none: No such file or directory",
    )


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3)  # 216 + 8
        self.point = nn.Conv2d(8, 8, 1)  # 64 + 8
        self.last = nn.Linear(8, 2)  # 16 + 2


def test_optimizers_and_their_flags() -> None:
    net = Net()
    groups: list[dict[str, Any]] = [
        {"params": net.first.parameters(), "lr": 0.5},
        {"params": net.last.parameters()},
    ]
    adam = torch.optim.AdamW(groups, lr=0.1, fused=True, amsgrad=True)
    sgd = torch.optim.SGD(net.point.parameters(), lr=torch.tensor(0.25), momentum=0.9, foreach=False)
    reader = OptimizerReader()
    first, second = reader.read([adam, sgd])
    assert (first.kind, first.groups, first.tensors, first.parameters) == ("AdamW", 2, 4, 242)
    assert first.lr == 0.5
    assert (first.flags["fused"], first.flags["amsgrad"], first.flags["foreach"]) == (True, True, None)
    assert (second.kind, second.lr, second.flags["foreach"]) == ("SGD", 0.25, False)
    assert second.flags["nesterov"] is False
    assert "amsgrad" not in second.flags
    sgd.add_param_group({"params": nn.Linear(2, 1).parameters()})
    sgd.param_groups[0]["lr"] = 0.125
    (again,) = reader.read([sgd])
    assert (again.parameters, again.tensors, again.lr) == (second.parameters + 3, 4, 0.125)


def test_each_parameter_counts_once_with_its_type_and_device() -> None:
    net = Net()
    net.last.to(torch.bfloat16)
    optimizers = [torch.optim.SGD(net.parameters(), 0.1), torch.optim.Adam(net.first.parameters(), 0.1)]
    facts = read_model(optimizers, [torch.amp.GradScaler("cpu")])
    assert (facts.tensors, facts.parameters) == (6, 314)
    assert facts.dtypes == {"float32": 296, "bfloat16": 18}
    assert facts.devices == {"cpu": 314}
    assert facts.mib == round((296 * 4 + 18 * 2) / 2**20, 2)
    assert (facts.sharded, facts.grad_scaler) == (0, True)
    off = read_model(optimizers, [torch.amp.GradScaler("cpu", enabled=False)])
    assert not off.grad_scaler


def test_the_memory_format_is_told_where_it_can_be() -> None:
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    before = read_model([optimizer], [])
    assert (before.four_d, before.channels_last) == (1, 0.0)  # the kernel of 1x1 is in both formats
    net.to(memory_format=torch.channels_last)
    after = read_model([optimizer], [])
    assert (after.four_d, after.channels_last) == (1, 1.0)
    linear = read_model([torch.optim.SGD(net.last.parameters(), 0.1)], [])
    assert (linear.four_d, linear.channels_last) == (0, None)


@pytest.mark.filterwarnings("ignore:Lazy modules are a new feature")
def test_parameters_without_a_shape_yet_count_as_nothing() -> None:
    lazy = nn.LazyLinear(2)
    facts = read_model([torch.optim.SGD(lazy.parameters(), 0.1)], [])
    assert (facts.tensors, facts.parameters) == (2, 0)


def test_objects_are_remembered_and_not_kept_alive() -> None:
    living = Living(kept=2)
    nets = [Net(), Net(), Net()]
    living.note(nets[0])
    living.note(nets[1])
    living.note(nets[2])
    assert living.all() == nets[1:]
    del nets[2]
    gc.collect()
    assert living.all() == nets[1:]


def stats(retries: int = 0, ooms: int = 0, reserved_mib: int = 64) -> Stats:
    """What `torch.cuda.memory_stats_as_nested_dict` returns, as far as it is read."""

    def amount(current_mib: int) -> dict[str, dict[str, int]]:
        return {"all": {"current": current_mib * 2**20, "peak": 2 * current_mib * 2**20}}

    return {
        "allocated_bytes": amount(48),
        "reserved_bytes": amount(reserved_mib),
        "inactive_split_bytes": amount(8),
        "num_alloc_retries": retries,
        "num_ooms": ooms,
        "num_device_alloc": 5,
        "num_device_free": 3,
    }


def test_the_allocator_is_not_read_before_cuda_is_in_use() -> None:
    if torch.cuda.is_available():
        pytest.skip("speaks of machines without a GPU")
    assert AllocatorReader().read("cpu") == (None, NOT_IN_USE)
    assert AllocatorReader().read("cuda:0") == (None, NOT_IN_USE)
    assert not torch.cuda.is_initialized()  # type: ignore[no-untyped-call]


def test_the_allocators_counters_become_facts() -> None:
    asked: list[int | None] = []

    def read(device: int | None) -> tuple[str, Stats]:
        asked.append(device)
        return f"cuda:{device or 0}", stats()

    reader = AllocatorReader(read)
    facts, reason = reader.read("cuda:3")
    assert reason is None
    assert facts == AllocatorFacts(
        device="cuda:3",
        allocated_mib=48.0,
        reserved_mib=64.0,
        inactive_split_mib=8.0,
        peak_allocated_mib=96.0,
        peak_reserved_mib=128.0,
        alloc_retries=0,
        ooms=0,
        device_allocs=5,
        device_frees=3,
    )
    reader.read("cpu")  # its parameters are elsewhere: the device with most memory
    reader.read(None)
    assert asked == [3, None, None]
    assert reader.take_happenings() == []


def test_retries_and_failures_are_events_when_they_are_new() -> None:
    readings = [stats(), stats(retries=2), stats(retries=2), stats(retries=3, ooms=1)]
    reader = AllocatorReader(lambda _device: ("cuda:0", readings.pop(0)))
    texts: list[list[str]] = []
    for _ in range(4):
        reader.read("cuda:0")
        texts.append([one.text for one in reader.take_happenings()])
    assert texts[0] == texts[2] == []
    assert texts[1] == [
        "no memory was free, 2 times: the cache was emptied to get it; "
        "48 MiB in use, 64 MiB reserved on cuda:0"
    ]
    assert texts[3][0].startswith("out of memory, 1 time,")


def test_a_torch_with_other_counters_costs_the_allocator_alone() -> None:
    border = Border()
    reader = AllocatorReader(lambda _device: ("cuda:0", {"other": {}}))
    assert border.guard("facts: allocator", reader.read)("cuda:0") is None
    assert border.errors == 1
