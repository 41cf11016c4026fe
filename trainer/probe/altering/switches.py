"""Switches of the process: TF32, cuDNN's benchmark, anomaly detection, Python's collector, blocking launches.

A script may set them itself, before its loop or in it: they are set again when the first step ends, and
looked at after each step that follows.
"""

import functools
import gc
import os
from collections.abc import Callable
from dataclasses import dataclass

import torch

from perftui.trainer.probe.altering.book import AlterationBook
from perftui.trainer.probe.border import Foreign

_CHANGES_ALLOWED = 3
_TF32_CAPABILITY = (8, 0)
LAUNCH_BLOCKING = "CUDA_LAUNCH_BLOCKING"


@dataclass(frozen=True)
class Switch:
    """One switch: how it is read and set, and why it may not be for a device."""

    read: Callable[[], bool | None]
    write: Callable[[bool], None]
    why_not: Callable[[bool, torch.device], str | None] = lambda _value, _device: None


def read_tf32() -> bool | None:
    """Return whether products and convolutions may use TF32; None where the two differ or cannot be read."""
    try:
        products = torch.get_float32_matmul_precision() != "highest"
        convolutions = bool(torch.backends.cudnn.allow_tf32)
    except RuntimeError:  # the script mixes torch's old and new switches for it
        return None
    return products if products == convolutions else None


def _write_tf32(value: bool) -> None:
    # the older switches set the newer ones along with them, and never the other way round
    torch.set_float32_matmul_precision("high" if value else "highest")
    torch.backends.cudnn.allow_tf32 = value


def _why_no_tf32(value: bool, device: torch.device) -> str | None:
    if device.type != "cuda":
        return f"the training runs on {device.type}: TF32 is a format of NVIDIA GPUs"
    if value and torch.cuda.get_device_capability(device) < _TF32_CAPABILITY:
        return "this GPU has no TF32 (compute capability below 8.0)"
    return None


def _why_no_cudnn(_value: bool, device: torch.device) -> str | None:
    return None if device.type == "cuda" else f"the training runs on {device.type}: cuDNN is for GPUs"


def _write_benchmark(value: bool) -> None:
    torch.backends.cudnn.benchmark = value


SWITCHES: dict[str, Switch] = {
    "precision.tf32": Switch(read_tf32, _write_tf32, _why_no_tf32),
    "cudnn.benchmark": Switch(lambda: bool(torch.backends.cudnn.benchmark), _write_benchmark, _why_no_cudnn),
    "debug.anomaly": Switch(torch.is_anomaly_enabled, torch.set_anomaly_enabled),
}


class Switches:
    """The switches that are asked for, held as they are asked for."""

    def __init__(self, book: AlterationBook) -> None:
        self._book = book
        self._wanted = {name: bool(book.asked[name]) for name in SWITCHES if name in book.asked}
        self._changes = dict.fromkeys(self._wanted, 0)

    @property
    def any(self) -> bool:
        """Whether there is anything to hold."""
        return bool(self._wanted)

    def set_first(self, device: torch.device) -> None:
        """Set all of them for a training on `device`, or say why not."""
        for name, value in list(self._wanted.items()):
            reason = SWITCHES[name].why_not(value, device)
            if reason is not None:
                self._book.refuse([name], reason)
                del self._wanted[name]
            else:
                SWITCHES[name].write(value)

    def hold(self) -> None:
        """Set again what the script has changed; a few times, then it is the script's."""
        for name, value in list(self._wanted.items()):
            if SWITCHES[name].read() is value:
                continue
            SWITCHES[name].write(value)
            self._changes[name] += 1
            if self._changes[name] > _CHANGES_ALLOWED:
                self._book.refuse([name], "the script sets it otherwise again and again while it trains")
                del self._wanted[name]


def keep_anomaly(value: bool) -> None:
    """Have every way of the script's to anomaly detection end in the same state."""
    foreign: Foreign = torch
    original: Foreign = foreign.set_anomaly_enabled

    @functools.wraps(original)
    def set_enabled(_mode: bool, check_nan: bool = True) -> None:
        original(value, check_nan)

    foreign.set_anomaly_enabled = set_enabled
    original(value)


def keep_launch_blocking(value: bool) -> None:
    """Set the variable that CUDA reads when it begins, over what the script has set before torch's import."""
    os.environ[LAUNCH_BLOCKING] = str(int(value))


def freeze(value: bool) -> None:
    """Take what exists out of the collector's work, or give it back."""
    if value:
        gc.collect()
        gc.freeze()
    else:
        gc.unfreeze()
