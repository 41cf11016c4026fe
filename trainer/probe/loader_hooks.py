"""The patches on loaders: how they are built, and how they make iterators.

Apart from the other hooks because there are loaders that are not torch's: torchdata's StatefulDataLoader
makes its iterators by itself, fastai's DataLoader is none but has torch's iterators do the work.
"""

import functools
import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

from torch.utils.data import DataLoader
from torch.utils.data import dataloader as loader_module

from perftui.trainer.probe.after_import import after_import
from perftui.trainer.probe.batch_making import patch_fetchers
from perftui.trainer.probe.border import Foreign
from perftui.trainer.probe.kept_workers import remember
from perftui.trainer.probe.loader_reading import built_by_script
from perftui.trainer.probe.order_reading import asks_by_index, let_pass
from perftui.trainer.probe.recorder import Recorder
from perftui.trainer.probe.untraced import untraced
from perftui.trainer.probe.worker_states import patch_workers

_BUILD_ERRORS = (ValueError, TypeError, RuntimeError, AssertionError, AttributeError)
_BASE = "_BaseDataLoaderIter"
_ITERATORS = ("_SingleProcessDataLoaderIter", "_MultiProcessingDataLoaderIter")
"""Private, and the same since torch 1.2."""


def patch_construction(recorder: Recorder) -> None:
    """Have loaders built as the settings want them."""
    _patch_build(recorder, DataLoader)


def patch_iterators(recorder: Recorder) -> None:
    """Note which loader an iterator belongs to, and when it is made."""
    _patch_iter(recorder, DataLoader)
    for name in _ITERATORS:
        _patch_making(recorder, vars(loader_module)[name])
    recorder.border.guard("install order of samples", _patch_dealing)(recorder)
    watch = (
        recorder.border.guard("worker states", recorder.states.watch),
        recorder.border.guard("batch making", recorder.making.watch),
    )
    recorder.border.guard("install batch making", patch_fetchers)(watch)
    prepare = recorder.border.guard("worker states", recorder.states.prepare)
    recorder.border.guard("install worker states", patch_workers)(prepare)


def patch_others(recorder: Recorder) -> None:
    """Treat loaders that are not torch's alike, once they are imported."""

    def stateful(module: ModuleType) -> None:
        kind = vars(module).get("StatefulDataLoader")
        if kind is not None:
            _patch_build(recorder, kind)
            _patch_iter(recorder, kind)

    def fast(module: ModuleType) -> None:
        kind = vars(module).get("DataLoader")
        if kind is not None:
            _patch_build(recorder, kind)

    guard = recorder.border.guard
    after_import(
        {
            "torchdata.stateful_dataloader.stateful_dataloader": guard("install torchdata", stateful),
            "fastai.data.load": guard("install fastai", fast),
        }
    )


def _patch_build(recorder: Recorder, kind: Foreign) -> None:
    original: Callable[..., None] = kind.__init__
    signature = inspect.signature(original)
    book = recorder.book
    altered = recorder.border.guard("loader settings", book.altered)

    @untraced
    @functools.wraps(original)
    def build(self: Foreign, *args: Foreign, **kwargs: Foreign) -> None:
        changed = altered(self, signature, args, kwargs)
        if changed is None:
            original(self, *args, **kwargs)
            return
        try:
            original(self, **changed)
        except _BUILD_ERRORS as error:
            book.not_applied(self, error)
            original(self, *args, **kwargs)

    kind.__init__ = build


def _patch_iter(recorder: Recorder, kind: Foreign) -> None:
    original: Callable[..., Foreign] = kind.__iter__
    note = recorder.border.guard("iterator end", recorder.note_iterator)
    begin = recorder.border.guard("kept workers", recorder.book.begin)
    kept = recorder.border.guard("kept workers", remember)

    @untraced
    @functools.wraps(original)
    def iterate(self: DataLoader[Any]) -> Foreign:
        begun = recorder.begin_iterator(self)
        try:
            begin(self)
            iterator = original(self)
            note(self, iterator)  # within the wait: what reading takes is the script's time as well
            kept(self)
        finally:
            if begun:
                recorder.end_iterator()
        return iterator

    kind.__iter__ = iterate


def _begin_timed(recorder: Recorder, loader: Foreign) -> int:
    return recorder.making.begin(recorder.book.index(loader), vars(loader).get("collate_fn"))


def _patch_dealing(recorder: Recorder) -> None:
    """Note which samples an iteration begins with; workers that are kept begin anew in the same iterator."""
    base: Foreign = vars(loader_module)[_BASE]
    deal = recorder.border.guard("order of samples", functools.partial(_deal, recorder))
    for name in ("__init__", "_reset"):
        setattr(base, name, _and_then(getattr(base, name), deal))


def _and_then(original: Callable[..., None], deal: Callable[..., Foreign]) -> Callable[..., None]:
    @untraced
    @functools.wraps(original)
    def begin(self: Foreign, loader: Foreign, *args: Foreign, **kwargs: Foreign) -> None:
        original(self, loader, *args, **kwargs)
        deal(self, loader)

    return begin


def _deal(recorder: Recorder, iterator: Foreign, loader: Foreign) -> None:
    if asks_by_index(iterator):
        dealt = recorder.book.samplers.deal(recorder.book.index(built_by_script(loader)))
        let_pass(iterator, recorder.border.guard("order of samples", dealt.note))


def _patch_making(recorder: Recorder, kind: Foreign) -> None:
    """Note iterators of torch that something else makes than a loader's patched `__iter__`."""
    original: Callable[..., None] = kind.__init__
    note = recorder.border.guard("iterator end", recorder.note_iterator)
    begin_states = recorder.border.guard("worker states", recorder.states.begin)
    begin_timed = recorder.border.guard("batch making", functools.partial(_begin_timed, recorder))

    @untraced
    @functools.wraps(original)
    def make(self: Foreign, loader: Foreign, *args: Foreign, **kwargs: Foreign) -> None:
        known = built_by_script(loader)
        begun = recorder.begin_iterator(known)
        begin_states(loader)
        timed = begin_timed(known)
        try:
            original(self, loader, *args, **kwargs)
        finally:
            recorder.making.end(timed)
            if begun:
                recorder.end_iterator()
        if begun:
            note(known, self)

    kind.__init__ = make
