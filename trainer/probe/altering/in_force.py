"""Reads the settings of this package back from the live objects, in the probe's thread."""

import gc
import os
import sys
from collections.abc import Callable

import torch

from perftui.ipc.settings import COMPILE_DISABLED_BY, SettingValue
from perftui.trainer.probe.altering import ddp_arguments, optimizer_arguments
from perftui.trainer.probe.altering.alterations import Alterations
from perftui.trainer.probe.altering.book import AlterationBook
from perftui.trainer.probe.altering.switches import LAUNCH_BLOCKING, SWITCHES
from perftui.trainer.probe.effective import Reader
from perftui.trainer.probe.live_objects import live_objects

_IMAGES = 4
NO_STEP = "no step of an optimizer of torch was seen"


def reader_of(alterations: Alterations) -> Reader:
    """Return what reads them, with the failures."""
    return lambda at_end: (read_asked(alterations), failures(alterations, at_end=at_end))


def read_asked(alterations: Alterations) -> dict[str, SettingValue]:
    """Return what is in force of all that is asked; what cannot be told yet is left out."""
    values: dict[str, SettingValue] = {}
    for name, asked in alterations.book.asked.items():
        value = _read(name, asked, alterations)
        if value is not None:
            values[name] = value
    return values


def failures(alterations: Alterations, *, at_end: bool) -> dict[str, str]:
    """Return what could not be applied; at the end of the process also what was never come to."""
    book = alterations.book
    failed = dict(book.failed)
    if at_end and not alterations.first_steps.begun:
        failed |= {name: NO_STEP for name in _wait_for_a_step(book) if name not in failed}
    if alterations.first_steps.begun:
        failed |= _optimizers_changed(book)
    failed |= {
        name: f"the script did not get {' '.join(words)} among its arguments"
        for name, words in book.words.items()
        if not _among_arguments(words)
    }
    return failed


def _optimizers_changed(book: AlterationBook) -> dict[str, str]:
    """Return what the optimizers were built with and have lost: by then they have stepped with it."""
    found: dict[str, str] = {}
    alive = live_objects.optimizers.all()
    for name in book.names("optimizer.") if alive else ():
        value, reason = optimizer_arguments.read_argument(name, alive)
        if reason is not None or bool(value) is not book.asked[name]:
            found[name] = reason or f"the script gives its groups of parameters another one ({value})"
    return found


def _wait_for_a_step(book: AlterationBook) -> list[str]:
    held = ("precision.tf32", "cudnn.benchmark", "gc.freeze", "ddp.", "optimizer.")
    return [*book.of_modules(), *book.names(*held)]


def _read(name: str, asked: SettingValue, alterations: Alterations) -> SettingValue:
    reader = _READERS.get(name)
    if reader is not None:
        return reader()
    if name in SWITCHES:
        return SWITCHES[name].read() if alterations.first_steps.begun else None
    if name == "gc.freeze":
        return gc.get_freeze_count() > 0 if alterations.first_steps.begun else None
    if name.startswith("optimizer."):
        return _optimizer(name, asked)
    if name.startswith("ddp."):
        return ddp_arguments.read_argument(name, live_objects.ddp.all())[0]
    if name.startswith("arg."):
        return asked if _among_arguments(alterations.book.words.get(name, [])) else None
    if name == "compile.mode" and asked == "off":
        return "off" if any(os.environ.get(variable) == "1" for variable in COMPILE_DISABLED_BY) else None
    if name == "layout.channels_last":
        return _channels_last() if alterations.first_steps.begun else None
    if name == "precision.autocast" and asked == "off":
        return "off"  # every autocast of the script is built as one that is off
    return alterations.book.seen.get(name)


def _optimizer(name: str, asked: SettingValue) -> SettingValue:
    value, reason = optimizer_arguments.read_argument(name, live_objects.optimizers.all())
    if reason is not None:
        return None
    return bool(value) if value is not None or asked is False else None


def _channels_last() -> bool | None:
    """Tell whether all parameters of four dimensions are in channels_last; None without any."""
    found: list[bool] = []
    for optimizer in live_objects.optimizers.all():
        for group in list(optimizer.param_groups):
            found += [
                parameter.is_contiguous(memory_format=torch.channels_last)
                for parameter in list(group["params"])
                if parameter.dim() == _IMAGES
            ]
    return all(found) if found else None


def _among_arguments(words: list[str]) -> bool:
    """Tell whether the words follow each other among the script's arguments, in either way of writing."""
    joined = "=".join(words)
    split = joined.split("=", 1)
    for arguments in (sys.argv[1:], sys.orig_argv[1:]):
        if joined in arguments:
            return True
        for place in range(len(arguments) - 1):
            if arguments[place : place + 2] in (words, split):
                return True
    return False


def _local_ranks() -> int | None:
    text = os.environ.get("LOCAL_WORLD_SIZE", "")
    return int(text) if text.isdigit() else None


def _launch_blocking() -> bool:
    return os.environ.get(LAUNCH_BLOCKING, "0") == "1"


_READERS: dict[str, Callable[[], SettingValue]] = {
    "torchrun.nproc_per_node": _local_ranks,
    "debug.launch_blocking": _launch_blocking,
}
