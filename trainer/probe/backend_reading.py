"""Switches of torch that hold for the whole process, each read from torch itself.

Older and newer torch name the precision of float32 differently, and a script that uses both ways makes the
older getters raise: then the newer ones speak.
"""

import sys
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import torch

from perftui.ipc.facts import BackendFacts
from perftui.trainer.probe.border import Foreign

_Value = TypeVar("_Value")
_PER_THREAD = "autocast is set for each thread, and no other thread can read it"
_TRACING = "torch.compile is at work, and switches it on meanwhile"
_MIXED = "the script mixes torch's old and new switches for it"


def read_backends(*, own_window: bool, compiling: Callable[[], bool] = lambda: False) -> BackendFacts:
    """Read all switches.

    Args:
        own_window: a profiling window of perftui is open, so that a running profiler says nothing.
        compiling: tells whether torch.compile is at work, which switches anomaly detection on for itself.
    """
    traces = compiling()
    anomaly = torch.is_anomaly_enabled()
    traces = traces or compiling()
    backends: Foreign = torch.backends
    matmul: Foreign = backends.cuda.matmul
    missing = {"autocast": _PER_THREAD}
    precision = _tried(torch.get_float32_matmul_precision)
    if precision is None:
        missing["float32_matmul_precision"] = _MIXED
    fp32 = _tried(lambda: backends.fp32_precision)
    if fp32 is None:
        missing |= dict.fromkeys(
            ("fp32_precision", "matmul_fp32_precision", "conv_fp32_precision"),
            "this torch has no such switch",
        )
    if traces:
        missing["anomaly"] = _TRACING
    if own_window:
        missing["profiler"] = "perftui's own profiling window is open"
    matmul_fp32 = _tried(lambda: matmul.fp32_precision)
    conv_fp32 = _tried(lambda: backends.cudnn.conv.fp32_precision)
    return BackendFacts(
        cudnn_benchmark=_tried(lambda: bool(backends.cudnn.benchmark)),
        cudnn_deterministic=_tried(lambda: bool(backends.cudnn.deterministic)),
        cudnn_allow_tf32=_either(lambda: backends.cudnn.allow_tf32, conv_fp32),
        matmul_allow_tf32=_either(lambda: matmul.allow_tf32, matmul_fp32),
        float32_matmul_precision=precision,
        fp32_precision=fp32,
        matmul_fp32_precision=matmul_fp32,
        conv_fp32_precision=conv_fp32,
        sdp=_sdp(backends.cuda),
        deterministic=torch.are_deterministic_algorithms_enabled(),
        deterministic_warn_only=torch.is_deterministic_algorithms_warn_only_enabled(),
        anomaly=None if traces else anomaly,
        anomaly_check_nan=torch.is_anomaly_check_nan_enabled(),
        num_threads=torch.get_num_threads(),
        interop_threads=torch.get_num_interop_threads(),
        profiler=None if own_window else _profiler(),
        tracer=read_tracer(),
        missing=missing,
    )


def _tried(read: Callable[[], _Value]) -> _Value | None:
    try:
        return read()
    except (AttributeError, RuntimeError):
        return None


def _either(read: Callable[[], Foreign], newer: str | None) -> bool | None:
    value = _tried(read)
    if value is not None:
        return bool(value)
    return None if newer is None else newer == "tf32"


def _sdp(cuda: Foreign) -> list[str]:
    allowed: list[str] = []
    for name in ("flash", "mem_efficient", "math", "cudnn"):
        enabled = getattr(cuda, f"{name}_sdp_enabled", None)
        if enabled is not None and enabled():
            allowed.append(name)
    return allowed


def _profiler() -> bool | None:
    module: Foreign = sys.modules.get("torch.autograd.profiler")
    return bool(getattr(module, "_is_profiler_enabled", None)) if module is not None else None


def read_tracer() -> str | None:
    """Return what traces the Python code of new threads or, since 3.12, of all: a debugger, coverage."""
    trace: Foreign = threading.gettrace()
    if trace is not None:
        return str(getattr(trace, "__module__", None) or type(trace).__module__).partition(".")[0]
    monitoring: Any = getattr(sys, "monitoring", None)  # Python 3.12
    if monitoring is not None:
        for tool in (monitoring.DEBUGGER_ID, monitoring.COVERAGE_ID, monitoring.PROFILER_ID):
            name = monitoring.get_tool(tool)
            if name is not None:
                return str(name)
    return None
