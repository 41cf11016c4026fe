"""The patches on torch: thin wrappers round a handful of public and long-stable functions, no module hooks.

Apart from the recorder so that one can see at a glance what is touched in the user's process: the loader's
iterator, `torch.autograd.backward`, the global optimizer hooks, `GradScaler.scale` and `step`, how loaders
and their iterators are made (`loader_hooks`), what writes checkpoints (`saves`), CUDA graphs that the script
captures (`graph_replays`), DeepSpeed's loss scalers (`deepspeed_losses`) and `Module.eval`
(`evaluation_calls`). Each leaves stamps and goes on: some 30 µs a step in all.
"""

import functools
from collections.abc import Callable
from threading import get_ident
from time import perf_counter_ns, thread_time_ns
from types import ModuleType
from typing import Any

import torch
from torch.optim.optimizer import (
    Optimizer,
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)
from torch.utils.data import dataloader as loader_module

from perftui.trainer.probe.after_import import after_import
from perftui.trainer.probe.border import Foreign
from perftui.trainer.probe.deepspeed_losses import patch_deepspeed
from perftui.trainer.probe.evaluation_calls import patch_eval
from perftui.trainer.probe.graph_replays import patch_graphs
from perftui.trainer.probe.late_steps import stepped_elsewhere
from perftui.trainer.probe.loader_hooks import patch_construction, patch_iterators, patch_others
from perftui.trainer.probe.optimizer_cycle import BEGINS_AGAIN, ENDS
from perftui.trainer.probe.recorder import FOREIGN_LOADER, LOADER_KEY, Recorder
from perftui.trainer.probe.saves import SaveWatch
from perftui.trainer.probe.stamps import (
    BACKWARD_BEGIN,
    BACKWARD_END,
    BACKWARD_FAILED,
    FETCH_BEGIN,
    FETCH_END,
    FETCH_FAILED,
    OPTIMIZER_BEGIN,
    OPTIMIZER_END,
    SCALER_BEGIN,
    SCALER_END,
    UNKNOWN_CPU,
)
from perftui.trainer.probe.untraced import leave_untraced, untraced

_LOOK_MASK = 255
"""One batch of so many, and one, is looked at: its shapes and types."""
_is_compiling = torch.compiler.is_compiling
_is_grad_enabled = torch.is_grad_enabled


def install_hooks(recorder: Recorder) -> None:
    """Patch torch; each patch stands alone, so one that does not fit this torch leaves the others."""
    for name, install in (
        ("loader construction", patch_construction),
        ("loader iterator", patch_iterators),
        ("loader fetch", _patch_fetch),
        ("other loaders", patch_others),
        ("backward", _patch_backward),
        ("optimizer", _patch_optimizers),
        ("grad scaler", _patch_scalers),
        ("deepspeed", patch_deepspeed),
        ("cuda graphs", patch_graphs),
        ("saves", _patch_saves),
        ("eval", patch_eval),
        ("compile", _watch_compiling),
        ("untraced", _leave_untraced),
    ):
        recorder.border.guard(f"install {name}", install)(recorder)


def _patch_fetch(recorder: Recorder) -> None:
    kind: Foreign = vars(loader_module)["_BaseDataLoaderIter"]  # private, and the same since torch 1.2
    original: Callable[..., Any] = kind.__next__
    put, leave = recorder.ring.put, recorder.ring.leave
    counts = recorder.counts
    sampling, at_step, mark = recorder.sampling, recorder.at_step, recorder.mark
    sleep, wake = recorder.sleep, recorder.wake_up
    setattr(kind, LOADER_KEY, FOREIGN_LOADER)

    @untraced
    @functools.wraps(original)
    def fetch(self: Foreign) -> Foreign:
        if get_ident() != recorder.thread and not recorder.claim_wait():
            recorder.read_ahead = self._perftui_loader
            return original(self)
        if sleep.due and sleep.due != FETCH_BEGIN:
            wake()
        here = recorder.thread
        key = self._perftui_loader
        begin_ns = perf_counter_ns()
        put(FETCH_BEGIN, begin_ns, thread_time_ns(), key * 2 + _is_grad_enabled())
        if recorder.batches >= sampling.next_at and at_step(begin_ns, True):
            return sleep.fetch(original, self, key)
        tasks = getattr(self, "_task_info", None)
        worker = -1 if tasks is None else worker_of(self, tasks)
        try:
            batch = original(self)
        except BaseException as error:
            if recorder.thread == here:
                raised = not isinstance(error, StopIteration)
                put(FETCH_FAILED, perf_counter_ns(), UNKNOWN_CPU, raised)
            raise
        end_ns = perf_counter_ns()
        if recorder.thread == here:  # another may have proved to be the training thread meanwhile
            count = counts.get(key) or recorder.count_of(key, batch)
            samples = count(batch)
            recorder.batches += 1
            leave((FETCH_END, end_ns, worker, -1 if samples is None else samples))
            if sampling.on:
                mark(FETCH_END)
            if not recorder.batches & _LOOK_MASK:
                recorder.look(key, batch)
        return batch

    kind.__next__ = fetch


def worker_of(iterator: Foreign, tasks: Foreign) -> int:
    """Return which worker the next batch of an iterator comes from; -1 out of order, or where none is due."""
    try:
        return int(tasks[iterator._rcvd_idx][0]) if iterator._in_order else -1
    except (AttributeError, LookupError, TypeError, ValueError):
        return -1


def _patch_backward(recorder: Recorder) -> None:
    original: Callable[..., None] = torch.autograd.backward
    put, leave = recorder.ring.put, recorder.ring.leave
    sample_loss = recorder.sample_loss
    sampling, mark, follow = recorder.sampling, recorder.mark, recorder.follow_backward
    elsewhere = recorder.elsewhere.stamps
    add_elsewhere = recorder.border.guard("elsewhere", stepped_elsewhere)
    alone = recorder.border.guard("elsewhere", recorder.elsewhere.goes_backward)
    note_root, at_step = recorder.note_root, recorder.at_step
    sleep, wake = recorder.sleep, recorder.wake_up

    @untraced
    @functools.wraps(original)
    def backward(tensors: Foreign, *args: Foreign, **kwargs: Foreign) -> None:
        begin_ns = perf_counter_ns()  # now: the first claim starts the agent
        if _is_compiling():
            original(tensors, *args, **kwargs)
            return
        if get_ident() != recorder.trainer and not recorder.claim_work():
            alone()
            original(tensors, *args, **kwargs)
            return
        if sleep.due:
            if sleep.due == BACKWARD_BEGIN:
                sleep.backward(original, begin_ns, tensors, args, kwargs)
                if elsewhere:
                    add_elsewhere(recorder, begin_ns)
                return
            wake()
            begin_ns = perf_counter_ns()  # after what is left late
        recorder.backed = True
        if recorder.device is None:
            note_root(tensors)
        leave((BACKWARD_BEGIN, begin_ns, UNKNOWN_CPU, 0))
        if recorder.batches >= recorder.loss_at:
            sample_loss(tensors)
        if sampling.on:
            mark(BACKWARD_BEGIN)
            follow(tensors)
        try:
            original(tensors, *args, **kwargs)
        except BaseException:
            put(BACKWARD_FAILED, perf_counter_ns(), UNKNOWN_CPU, 0)
            raise
        step_ends = add_elsewhere(recorder, begin_ns) if elsewhere else False
        end_ns = perf_counter_ns()
        leave((BACKWARD_END, end_ns, UNKNOWN_CPU, 0))
        if sampling.on:
            mark(BACKWARD_END)
        if step_ends and recorder.batches >= sampling.next_at:
            at_step(end_ns, False)

    torch.autograd.backward = backward


def _patch_optimizers(recorder: Recorder) -> None:
    put, leave = recorder.ring.put, recorder.ring.leave
    note = recorder.border.guard("optimizer", recorder.note_optimizer)
    begins = recorder.border.guard("elsewhere", recorder.elsewhere.begins)
    ends = recorder.border.guard("elsewhere", recorder.elsewhere.ends)
    sampling, at_step, mark = recorder.sampling, recorder.at_step, recorder.mark
    sleep, wake = recorder.sleep, recorder.wake_up
    wake_up_after = recorder.border.guard("sleep", sleep.optimizer_ends)

    def before(optimizer: Optimizer, _args: Foreign, _kwargs: Foreign) -> None:
        if _is_compiling():
            return
        if get_ident() != recorder.trainer:
            if begins(id(optimizer)):
                if recorder.optimizer is None:
                    note(optimizer)
                return
            if not recorder.claim_work():
                return
        if sleep.due:
            if sleep.due == OPTIMIZER_BEGIN:
                sleep.due, sleep.key = OPTIMIZER_END, id(optimizer)
                return
            wake()
        if recorder.optimizer is None:
            note(optimizer)
        put(OPTIMIZER_BEGIN, perf_counter_ns(), UNKNOWN_CPU, id(optimizer))
        if sampling.on:
            mark(OPTIMIZER_BEGIN)

    def after(optimizer: Optimizer, _args: Foreign, _kwargs: Foreign) -> None:
        if _is_compiling():
            return
        if get_ident() != recorder.trainer:
            ends(id(optimizer))
            return
        if sleep.due:
            if sleep.due == OPTIMIZER_END:
                wake_up_after()
                return
            wake()
        if recorder.batches != recorder.batches_stepped:  # the first to step since a fetch
            recorder.batches_stepped = recorder.batches
            leave((OPTIMIZER_END, perf_counter_ns(), UNKNOWN_CPU, 0))
            if sampling.on:
                mark(OPTIMIZER_END)
            return
        cpu_ns = thread_time_ns()  # without a loader a step may end here
        cycle = recorder.cycle
        turn = cycle.step(id(optimizer), recorder.batches, backed=recorder.backed)
        recorder.backed = False
        if turn & BEGINS_AGAIN:
            recorder.batches += 1
            recorder.batches_stepped = recorder.batches
        end_ns = perf_counter_ns()
        leave((OPTIMIZER_END, end_ns, cpu_ns, 0))
        if sampling.on:
            mark(OPTIMIZER_END)
            if not (cycle.sure or cycle.fed):
                sampling.leave_out()
        if turn & ENDS and recorder.batches >= sampling.next_at:
            at_step(end_ns, False)

    register_optimizer_step_pre_hook(before)
    register_optimizer_step_post_hook(after)


def _patch_scalers(recorder: Recorder) -> None:
    _patch_scale(recorder, torch.amp.GradScaler)

    def sharded(module: ModuleType) -> None:
        kind = vars(module).get("ShardedGradScaler")
        if kind is not None and "scale" in vars(kind):  # of its own, without its base's
            _patch_scale(recorder, kind)

    name = "torch.distributed.fsdp.sharded_grad_scaler"
    after_import({name: recorder.border.guard("install sharded grad scaler", sharded)})
    _patch_scaler_step(recorder)


def _patch_scale(recorder: Recorder, kind: Foreign) -> None:
    original: Callable[..., Any] = kind.scale
    note = recorder.note_scaled

    @untraced
    @functools.wraps(original)
    def scale(self: Foreign, *args: Foreign, **kwargs: Foreign) -> Foreign:
        scaled = original(self, *args, **kwargs)
        if not _is_compiling() and recorder.batches >= recorder.loss_at:
            note(self, scaled)
        return scaled

    kind.scale = scale


def _patch_scaler_step(recorder: Recorder) -> None:
    kind = torch.amp.GradScaler
    original: Callable[..., Any] = kind.step
    put = recorder.ring.put

    @untraced
    @functools.wraps(original)
    def step(self: Foreign, optimizer: Optimizer, *args: Foreign, **kwargs: Foreign) -> Foreign:
        if get_ident() != recorder.trainer and not recorder.claim_work():
            return original(self, optimizer, *args, **kwargs)
        if recorder.sleep.due:
            recorder.wake_up()
        put(SCALER_BEGIN, perf_counter_ns(), UNKNOWN_CPU, id(optimizer))
        try:
            return original(self, optimizer, *args, **kwargs)
        finally:
            put(SCALER_END, perf_counter_ns(), UNKNOWN_CPU, 0)

    kind.step = step  # type: ignore[method-assign]


def _patch_saves(recorder: Recorder) -> None:
    SaveWatch(
        recorder.border,
        recorder.ring.put,
        lambda: recorder.thread,
        lambda save: recorder.saves.append(save),
        recorder.saving,
    ).install()


def _watch_compiling(recorder: Recorder) -> None:
    recorder.compiling.install()


def _leave_untraced(recorder: Recorder) -> None:
    leave_untraced(recorder.border)
