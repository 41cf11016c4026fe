"""The patches on torch: thin wrappers round a handful of public and long-stable functions, no module hooks.

Apart from the recorder so that one can see at a glance what is touched in the user's process: the loader's
iterator, `torch.autograd.backward`, the global optimizer hooks, `GradScaler.step`, `torch.save`, and how a
DataLoader is built.
"""

import functools
import os
from collections.abc import Callable
from pathlib import Path
from time import perf_counter_ns
from typing import Any

import torch
from torch.optim.optimizer import (
    Optimizer,
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)
from torch.utils.data import DataLoader
from torch.utils.data import dataloader as loader_module

from perftui.trainer.probe.border import Foreign
from perftui.trainer.probe.recorder import Recorder

_BUILD_ERRORS = (ValueError, TypeError, RuntimeError, AssertionError, AttributeError)


def install_hooks(recorder: Recorder) -> None:
    """Patch torch; each patch stands alone, so one that does not fit this torch leaves the others."""
    for name, install in (
        ("loader construction", _patch_construction),
        ("loader iterator", _patch_iterator),
        ("loader fetch", _patch_fetch),
        ("backward", _patch_backward),
        ("optimizer", _patch_optimizers),
        ("grad scaler", _patch_scaler),
        ("save", _patch_save),
    ):
        recorder.border.guard(f"install {name}", install)(recorder)


def _patch_construction(recorder: Recorder) -> None:
    kind: Foreign = DataLoader
    original: Callable[..., None] = kind.__init__
    book = recorder.book
    altered = recorder.border.guard("loader settings", book.altered)

    @functools.wraps(original)
    def build(self: DataLoader[Any], *args: Foreign, **kwargs: Foreign) -> None:
        changed = altered(self, args, kwargs)
        if changed is None:
            original(self, *args, **kwargs)
            return
        try:
            original(self, **changed)
        except _BUILD_ERRORS as error:
            book.not_applied(self, error)
            original(self, *args, **kwargs)

    kind.__init__ = build


def _patch_iterator(recorder: Recorder) -> None:
    kind: Foreign = DataLoader
    original: Callable[..., Foreign] = kind.__iter__
    begin = recorder.border.guard("iterator", recorder.iterator_begin)
    end = recorder.border.guard("iterator end", recorder.iterator_end)

    @functools.wraps(original)
    def iterate(self: DataLoader[Any]) -> Foreign:
        begin(self)
        iterator = None
        try:
            iterator = original(self)
        finally:
            end(self, iterator)
        return iterator

    kind.__iter__ = iterate


def _patch_fetch(recorder: Recorder) -> None:
    kind: Foreign = vars(loader_module)["_BaseDataLoaderIter"]  # private, and the same since torch 1.2
    original: Callable[..., Any] = kind.__next__
    begin = recorder.border.guard("fetch", recorder.fetch_begin)
    end = recorder.border.guard("fetch end", recorder.fetch_end)
    failed = recorder.border.guard("fetch end", recorder.fetch_failed)

    @functools.wraps(original)
    def fetch(self: Foreign) -> Foreign:
        begin(self)
        try:
            batch = original(self)
        except BaseException:
            failed(self)
            raise
        end(self, batch)
        return batch

    kind.__next__ = fetch


def _patch_backward(recorder: Recorder) -> None:
    original: Callable[..., None] = torch.autograd.backward
    begin = recorder.border.guard("backward", recorder.backward_begin)
    end = recorder.border.guard("backward end", recorder.backward_end)

    @functools.wraps(original)
    def backward(tensors: Foreign, *args: Foreign, **kwargs: Foreign) -> None:
        if torch.compiler.is_compiling():
            original(tensors, *args, **kwargs)
            return
        begin(tensors)
        failed = True
        try:
            original(tensors, *args, **kwargs)
            failed = False
        finally:
            end(failed)

    torch.autograd.backward = backward


def _patch_optimizers(recorder: Recorder) -> None:
    begin = recorder.border.guard("optimizer", recorder.optimizer_begin)
    end = recorder.border.guard("optimizer end", recorder.optimizer_end)

    def before(optimizer: Optimizer, _args: Foreign, _kwargs: Foreign) -> None:
        if not torch.compiler.is_compiling():
            begin(optimizer)

    def after(_optimizer: Optimizer, _args: Foreign, _kwargs: Foreign) -> None:
        if not torch.compiler.is_compiling():
            end()

    register_optimizer_step_pre_hook(before)
    register_optimizer_step_post_hook(after)


def _patch_scaler(recorder: Recorder) -> None:
    kind = torch.amp.GradScaler
    original: Callable[..., Any] = kind.step
    begin = recorder.border.guard("scaler", recorder.scaler_begin)
    end = recorder.border.guard("scaler end", recorder.scaler_end)

    @functools.wraps(original)
    def step(self: Foreign, optimizer: Optimizer, *args: Foreign, **kwargs: Foreign) -> Foreign:
        begin(optimizer)
        try:
            return original(self, optimizer, *args, **kwargs)
        finally:
            end()

    kind.step = step  # type: ignore[method-assign]


def _is_path(f: Foreign) -> bool:
    return isinstance(f, (str, os.PathLike))


def _name_of(f: Foreign) -> str:
    return Path(f).name if _is_path(f) else "a stream"


def _patch_save(recorder: Recorder) -> None:
    original: Callable[..., None] = torch.save
    saved = recorder.border.guard("save", recorder.saved)

    @functools.wraps(original)
    def save(obj: Foreign, f: Foreign, *args: Foreign, **kwargs: Foreign) -> None:
        begin_ns = perf_counter_ns()
        original(obj, f, *args, **kwargs)
        saved(begin_ns, _name_of(f))

    torch.save = save
    torch.serialization.save = save
