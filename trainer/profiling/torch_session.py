"""One capture of torch.profiler: prepare, start, stop, and the way out when something is broken.

The only module that touches torch's profiler, so that the differences between torch 2.4 and today are in one
place. A session is used once: a profiler that has run records nothing when it is started again.
"""

import importlib
import os
import re
import warnings
from types import ModuleType
from typing import Any, Protocol

from perftui.ipc.messages import Preset
from perftui.trainer.profiling.memory_history import MemoryHistory

PROFILER_ERRORS = (
    RuntimeError,
    AssertionError,
    AttributeError,
    ImportError,
    KeyError,
    OSError,
    TypeError,
    ValueError,
)
"""What torch's profiler can raise, versions in which a private name is missing included."""


class TraceResults(Protocol):
    """A finished capture, not yet written; one that can be saved once."""

    def save(self, path: str) -> object:
        """Write the trace as JSON; a path that cannot be written is not reported."""
        ...


def profiler_enabled() -> bool:
    """Say whether a profiler records in this thread."""
    torch = importlib.import_module("torch")
    return bool(torch.autograd._profiler_enabled())


def process_rank() -> int | None:
    """Return the rank that torch.distributed gives this process, if it is initialised."""
    distributed = importlib.import_module("torch.distributed")
    if distributed.is_available() and distributed.is_initialized():
        return int(distributed.get_rank())
    return None


class StepMark:
    """An open `ProfilerStep#N` span, the name by which every trace reader knows a step."""

    def __init__(self, step: int) -> None:
        profiler = importlib.import_module("torch.profiler")
        self._span = profiler.record_function(f"ProfilerStep#{step}")
        self._span.__enter__()

    def close(self) -> None:
        """End the span; call it in the thread that opened it."""
        self._span.__exit__(None, None, None)


class ProfilerSession:
    """A fresh profiler. All calls belong into the training thread: its state is thread-local."""

    def __init__(self, preset: Preset) -> None:
        profiler = importlib.import_module("torch.profiler")
        self._profile: Any = profiler._KinetoProfile(
            activities=_activities(profiler),
            record_shapes=preset == "shapes",
            profile_memory=preset == "memory",
            with_stack=preset == "stacks",
            experimental_config=_configuration(preset),
        )
        self._started = False
        self._on_cuda = _on_cuda(profiler)
        self.memory: MemoryHistory | None = None
        """The allocator's history; whoever stops the session saves and ends it."""
        if preset == "memory" and self._on_cuda:
            self.memory = MemoryHistory()

    def prepare(self) -> None:
        """Set up collection; the slow part on a GPU, so a warm step should follow."""
        tear_down_cupti()
        with warnings.catch_warnings():  # torch 2.11 advises about cycles, in the user's output
            warnings.simplefilter("ignore")
            self._profile.prepare_trace()
        # Older torch builds one Python object per event when a capture stops, in the training thread.
        # The trace is saved from the raw results, so nobody would read them.
        self._profile.profiler._parse_kineto_results = _no_events

    def start(self) -> None:
        """Begin to record."""
        self._started = True
        if self.memory is not None:
            self.memory.begin()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._profile.start_trace()

    def drain(self) -> bool:
        """Wait until the current device has done what is queued, as stopping does first of all.

        Apart, so that the wait can be told from what the profiler itself takes: the device works meanwhile.
        Returns whether there is a device.
        """
        if not self._on_cuda:
            return False
        importlib.import_module("torch").cuda.synchronize()
        return True

    def stop(self) -> TraceResults:
        """End the recording and hand over the raw results."""
        self._profile.stop_trace()
        results: TraceResults = self._profile.profiler.kineto_results
        return results

    def ended_early(self) -> bool:
        """Whether kineto has stopped collecting by itself, because its device buffers were full."""
        autograd = importlib.import_module("torch.autograd")
        stopped = getattr(autograd, "_is_kineto_stopped", None)  # not in every version
        return stopped is not None and bool(stopped())

    def abandon(self) -> None:
        """End the capture without a result and without waiting for the device.

        A capture that was only prepared is started first: left in that state it would go on collecting
        device activity. Dropping one that runs would crash the process at its end.
        """
        memory, self.memory = self.memory, None
        if not self._started:
            self.start()
        if memory is not None:
            memory.end()
        autograd = importlib.import_module("torch.autograd")
        autograd._disable_profiler()
        notify = getattr(autograd.profiler, "_run_on_profiler_stop", None)
        if notify is not None:
            notify()


def _activities(profiler: ModuleType) -> list[object]:
    kinds = profiler.ProfilerActivity
    return [kinds.CPU, kinds.CUDA] if _on_cuda(profiler) else [kinds.CPU]


def _on_cuda(profiler: ModuleType) -> bool:
    """Say whether the process already uses the GPU: stopping would otherwise create a CUDA context."""
    torch = importlib.import_module("torch")
    known = profiler.ProfilerActivity.CUDA in profiler.supported_activities()
    return known and bool(torch.cuda.is_initialized())


def tear_down_cupti() -> None:
    """Have CUPTI detached after each capture where that is safe, unless the user has said otherwise.

    It slows a launch-bound training for ever if it stays. With CUDA graphs this is known safe from CUDA 12.6
    on. A launcher sets the variable before; where there was none, kineto reads it when a capture ends.
    """
    torch = importlib.import_module("torch")
    found = re.match(r"(\d+)\.(\d+)", str(torch.version.cuda or ""))
    if found is not None and (int(found[1]), int(found[2])) >= (12, 6):
        os.environ.setdefault("TEARDOWN_CUPTI", "1")


def _configuration(preset: Preset) -> object:
    internals = importlib.import_module("torch._C._profiler")
    if preset != "stacks":  # stacks need the events that trace_only leaves out
        try:
            return internals._ExperimentalConfig(trace_only=True)
        except TypeError:
            pass  # before torch 2.13
    return internals._ExperimentalConfig()


def _no_events(_results: object) -> list[object]:
    return []
