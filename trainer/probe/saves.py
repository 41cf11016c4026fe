"""Which files of a checkpoint are written, and when: the functions that write them are wrapped.

torch.save, safetensors, Lightning's way of writing, and torch's distributed checkpoints. What one of them
does by another counts once, in its thread. Files written in a row are one checkpoint.
"""

import functools
import os
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from threading import get_ident
from time import perf_counter_ns
from types import ModuleType
from typing import NamedTuple

import torch

from perftui.trainer.probe.after_import import after_import
from perftui.trainer.probe.border import Border, Foreign
from perftui.trainer.probe.saving_threads import SavingThreads
from perftui.trainer.probe.stamps import SAVE_BEGIN, UNKNOWN_CPU

CLOSE_NS = 10_000_000_000
"""Files that are written in the same step, no further apart than this, belong to one checkpoint."""
STREAM = "a stream"
"""Stands for the name of what was written to no file."""


class Save(NamedTuple):
    """A file that was written, or a checkpoint of several."""

    at_ns: int
    duration_ns: int
    text: str
    here: bool = True
    """The training thread wrote it itself, and did nothing else meanwhile."""


def joined_saves(placed: Iterable[tuple[int, Save]]) -> list[tuple[int, Save]]:
    """Return checkpoints made of files, each with its step.

    A checkpoint lasts as long as its files took: what the script did between them is not counted.

    Args:
        placed: files, each with the step in which it was written.
    """
    groups: list[tuple[int, list[Save]]] = []
    last_ns = 0
    for step, save in sorted(placed, key=lambda each: (each[0], each[1].at_ns)):
        if not groups or groups[-1][0] != step or save.at_ns - last_ns > CLOSE_NS:
            groups.append((step, []))
            last_ns = 0
        groups[-1][1].append(save)
        last_ns = max(last_ns, save.at_ns + save.duration_ns)
    return [(step, _one_of(files)) for step, files in groups]


def _one_of(files: Sequence[Save]) -> Save:
    duration_ns = end_ns = 0
    for save in files:
        until_ns = save.at_ns + save.duration_ns
        duration_ns += max(0, until_ns - max(save.at_ns, end_ns))  # threads may write at the same time
        end_ns = max(end_ns, until_ns)
    names = list(dict.fromkeys(save.text for save in files if save.text != STREAM)) or [STREAM]
    text = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
    return Save(files[0].at_ns, duration_ns, text, any(save.here for save in files))


class _Writing(threading.local):
    """On while this thread is inside one of the functions."""

    on = False


class SaveWatch:
    """Wraps what writes checkpoints.

    Args:
        border: what goes wrong in our part is counted there.
        put: leaves a stamp; the training thread's alone.
        training_thread: returns the identity of that thread.
        written: receives each file.
        elsewhere: told of other threads that write.
    """

    def __init__(
        self,
        border: Border,
        put: Callable[[int, int, int, int], None],
        training_thread: Callable[[], int],
        written: Callable[[Save], object],
        elsewhere: SavingThreads,
    ) -> None:
        self._border = border
        self._put = put
        self._training_thread = training_thread
        self._written = border.guard("save", self._note)
        self._receive = written
        self._begins = border.guard("save", elsewhere.begins)
        self._ends = border.guard("save", elsewhere.ends)
        self._writing = _Writing()

    def install(self) -> None:
        """Wrap what is there, and the rest when it is imported."""
        foreign: Foreign = torch
        foreign.save = foreign.serialization.save = self.wrapped(torch.save, "f")
        after_import({name: self._patch_of(name) for name in _WRITERS})

    def _patch_of(self, name: str) -> Callable[[ModuleType], None]:
        def patch(module: ModuleType) -> None:
            for function, target in _WRITERS[name].items():
                original = vars(module).get(function)  # it may be half imported: by whoever imports torch
                if callable(original) and not hasattr(original, _MARK):
                    setattr(module, function, self.wrapped(original, target))

        return self._border.guard(f"install {name}", patch)

    def wrapped(self, original: Callable[..., Foreign], target: str) -> Callable[..., Foreign]:
        """Return a writer that is watched.

        Args:
            original: takes where to write as its second argument, or by name.
            target: that name.
        """
        writing, put, training_thread, written = (
            self._writing,
            self._put,
            self._training_thread,
            self._written,
        )
        begins, ends = self._begins, self._ends

        @functools.wraps(original)
        def write(*args: Foreign, **kwargs: Foreign) -> Foreign:
            if writing.on:
                return original(*args, **kwargs)
            writing.on = True
            begin_ns, thread = perf_counter_ns(), get_ident()
            here = thread == training_thread()
            if here:
                put(SAVE_BEGIN, begin_ns, UNKNOWN_CPU, 0)
            else:
                begins(thread, sys._getframe(1).f_code)
            try:
                result = original(*args, **kwargs)
            finally:
                writing.on = False
                if not here:
                    ends(thread)
            written(begin_ns, args[1] if len(args) > 1 else kwargs.get(target), kwargs)
            return result

        setattr(write, _MARK, True)
        return write

    def _note(self, begin_ns: int, target: Foreign, named: dict[str, Foreign]) -> None:
        duration_ns = perf_counter_ns() - begin_ns
        if target is None:  # distributed checkpoints: a writer knows its folder
            target = getattr(named.get("storage_writer"), "path", None)
        text = Path(target).name if isinstance(target, (str, os.PathLike)) else STREAM
        here = get_ident() == self._training_thread()
        self._receive(Save(begin_ns, duration_ns, text, here))


_MARK = "_perftui_watched"
_WRITERS = {
    "safetensors": {"serialize_file": "filename"},
    "safetensors.torch": {"save_file": "filename", "save_model": "filename"},
    "lightning.fabric.utilities.cloud_io": {"_atomic_save": "filepath"},
    "lightning_fabric.utilities.cloud_io": {"_atomic_save": "filepath"},
    "torch.distributed.checkpoint.state_dict_saver": {"save": "checkpoint_id"},
    "torch.distributed.checkpoint": {"save": "checkpoint_id"},
}
"""By module: the functions that write, and how each names the argument that says where.

The package `safetensors` only matters where `safetensors.torch` is what imports torch."""
