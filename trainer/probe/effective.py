"""What is really in force: settings, loader and device, read back from live objects.

Apart from what applies settings, so that the one cannot vouch for the other.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import msgspec
import torch

from perftui.ipc.loader_names import join_name
from perftui.ipc.messages import LoaderFacts
from perftui.ipc.settings import SettingValue
from perftui.trainer.probe.allocator_reading import as_facts, nested_stats
from perftui.trainer.probe.border import Foreign
from perftui.trainer.probe.loader_reading import settings_in
from perftui.trainer.probe.loader_settings import LoaderBook
from perftui.trainer.probe.recorder import Recorder

Reader: TypeAlias = Callable[[bool], tuple[dict[str, SettingValue], dict[str, str]]]
"""Takes whether the process ends; returns the settings that are in force, and those that failed with why."""
readers: list[Reader] = []
"""Of settings beyond those of loaders and the environment, where any is asked for."""
_AT_WORK_MIB = 1.0
"""Most memory in tensors on a GPU, at least: less is a look at whether it works."""


@dataclass(frozen=True)
class InForce:
    """One reading; the fields are those of `Effective`."""

    settings: dict[str, SettingValue]
    failed: dict[str, str]
    loader: LoaderFacts | None
    device: str | None
    gpu_uuid: str | None
    read_ahead: LoaderFacts | None = None


def read_in_force(recorder: Recorder, applied: dict[str, SettingValue], *, at_end: bool = False) -> InForce:
    """Read what is in force now.

    Args:
        recorder: of this process.
        applied: the settings that were asked for.
        at_end: the process ends, so that a loader that was not built will never be.
    """
    book = recorder.book
    device = _device(recorder)
    settings = _torch_flags() | _environment(applied)
    key = recorder.clock.fetches.training_loader
    training = book.facts(key)
    if training is not None:
        told = recorder.workers.read(key)
        training = msgspec.structs.replace(
            training, worker_pids=told.pids, worker_start_ticks=told.start_ticks
        )
    read_ahead = book.facts(recorder.read_ahead) if training is None else None
    replaced = book.replaced(key)
    named = [book.facts_at(index) for index in book.wanted if index not in replaced]
    for facts in (*named, training, read_ahead):
        if facts is not None:
            settings |= settings_in(facts)
    failed = dict(book.failed) | _replaced(book, replaced)
    for reader in readers:
        values, reasons = reader(at_end)
        settings |= values
        failed |= reasons
    if at_end:
        failed |= book.never_built()
    if device is not None and device.type == "cpu":
        failed |= _pinned_for_nothing(book)
    return InForce(
        settings,
        failed,
        training,
        str(device) if device is not None else None,
        _uuid(device),
        read_ahead,
    )


def _torch_flags() -> dict[str, SettingValue]:
    flags: dict[str, SettingValue] = {
        "torch.num_threads": torch.get_num_threads(),
        "torch.anomaly": torch.is_anomaly_enabled(),
        "torch.deterministic": torch.are_deterministic_algorithms_enabled(),
        "torch.cudnn_benchmark": bool(torch.backends.cudnn.benchmark),
    }
    try:
        flags["torch.float32_matmul_precision"] = torch.get_float32_matmul_precision()
    except RuntimeError:  # the script mixes torch's old and new switches for it
        flags["torch.float32_matmul_precision"] = None
    return flags


def _environment(applied: dict[str, SettingValue]) -> dict[str, SettingValue]:
    return {name: os.environ.get(name[4:]) for name in applied if name.startswith("env.")}


def _replaced(book: LoaderBook, indices: list[int]) -> dict[str, str]:
    reason = "the loader that it was applied to is replaced by one that is built elsewhere"
    return {join_name(index, name): reason for index in indices for name in book.wanted[index]}


def _pinned_for_nothing(book: LoaderBook) -> dict[str, str]:
    return {
        join_name(index, "pin_memory"): "no accelerator: torch does not pin"
        for index, wanted in book.wanted.items()
        if wanted.get("pin_memory") and book.facts_at(index) is not None
    }


def _device(recorder: Recorder) -> torch.device | None:
    optimizer = recorder.optimizer() if recorder.optimizer is not None else None
    if optimizer is None:
        return recorder.device
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            device = torch.device(parameter.device)
            return (_gpu_at_work() or device) if device.type == "cpu" else device
    return None


def _gpu_at_work() -> torch.device | None:
    """Return the GPU that this process has tensors on; None: it has none.

    What the optimizer holds may be kept on the CPU (ZeRO-Offload, FSDP with `cpu_offload`) while the model
    computes on a GPU.
    """
    found = nested_stats(None)
    if found is None or as_facts(*found).peak_allocated_mib < _AT_WORK_MIB:
        return None
    return torch.device(found[0])


def _uuid(device: torch.device | None) -> str | None:
    if device is None or device.type != "cuda":
        return None
    cuda: Foreign = torch.cuda
    uuid = getattr(cuda.get_device_properties(device), "uuid", None)
    return None if uuid is None else f"GPU-{str(uuid).removeprefix('GPU-')}"
