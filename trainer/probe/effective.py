"""What is really in force: settings, loader and device, read back from live objects.

Apart from what applies settings, so that the one cannot vouch for the other.
"""

import multiprocessing
import os
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils.data import IterableDataset

from perftui.ipc.messages import LoaderFacts
from perftui.ipc.settings import SettingValue
from perftui.trainer.probe.loader_settings import AnyLoader, LoaderBook, join_name
from perftui.trainer.probe.recorder import Recorder


@dataclass(frozen=True)
class InForce:
    """One reading; the fields are those of `Effective`."""

    settings: dict[str, SettingValue]
    failed: dict[str, str]
    loader: LoaderFacts | None
    device: str | None
    gpu_uuid: str | None


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
    training = book.loader(recorder.clock.training_loader)
    for index in {recorder.clock.training_loader, *book.wanted}:
        loader = book.loader(index)
        if loader is not None:
            settings |= _loader_settings(index, loader)
    failed = dict(book.failed)
    if at_end:
        failed |= book.never_built()
    if device is not None and device.type == "cpu":
        failed |= _pinned_for_nothing(book)
    return InForce(
        settings,
        failed,
        _facts(book.number(training), training) if training is not None else None,
        str(device) if device is not None else None,
        _uuid(device),
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


def _context_name(loader: AnyLoader) -> str | None:
    context: Any = loader.multiprocessing_context
    if not loader.num_workers:
        return None
    if context is None:
        return multiprocessing.get_start_method(allow_none=True) or multiprocessing.get_all_start_methods()[0]
    return str(context.get_start_method())


def _loader_settings(index: int, loader: AnyLoader) -> dict[str, SettingValue]:
    values: dict[str, SettingValue] = {
        "num_workers": loader.num_workers,
        "pin_memory": bool(loader.pin_memory),
        "persistent_workers": bool(loader.persistent_workers),
        "prefetch_factor": loader.prefetch_factor,
        "multiprocessing_context": _context_name(loader),
    }
    return {join_name(index, name): value for name, value in values.items()}


def _facts(index: int, loader: AnyLoader) -> LoaderFacts:
    iterable = isinstance(loader.dataset, IterableDataset)
    size = loader.batch_size
    if size is None:
        size = getattr(loader.batch_sampler, "batch_size", None)
    return LoaderFacts(
        index=index,
        num_workers=loader.num_workers,
        batch_size=size if isinstance(size, int) else None,
        prefetch_factor=loader.prefetch_factor,
        persistent_workers=bool(loader.persistent_workers),
        pin_memory=bool(loader.pin_memory),
        multiprocessing_context=_context_name(loader),
        in_order=bool(getattr(loader, "in_order", True)),  # torch 2.6
        batches_per_epoch=None if iterable else _length(loader),
        iterable=iterable,
        dataset=type(loader.dataset).__name__,
    )


def _length(loader: AnyLoader) -> int | None:
    try:
        return len(loader)
    except (TypeError, NotImplementedError, AttributeError):
        return None


def _pinned_for_nothing(book: LoaderBook) -> dict[str, str]:
    return {
        join_name(index, "pin_memory"): "no accelerator: torch does not pin"
        for index, wanted in book.wanted.items()
        if wanted.get("pin_memory") and book.loader(index) is not None
    }


def _device(recorder: Recorder) -> torch.device | None:
    optimizer = recorder.optimizer() if recorder.optimizer is not None else None
    if optimizer is None:
        return None
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            return torch.device(parameter.device)
    return None


def _uuid(device: torch.device | None) -> str | None:
    if device is None or device.type != "cuda":
        return None
    uuid = getattr(torch.cuda.get_device_properties(device), "uuid", None)
    return None if uuid is None else f"GPU-{str(uuid).removeprefix('GPU-')}"
