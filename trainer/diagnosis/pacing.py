"""Who paces the step: a critical-path model over one rank's window.

A step is as long as the slowest of loader, host and device, plus what none of them hides. Loader workers run
beside the model, so while the training waits for them nothing done to the model makes a step shorter. Without
workers loading and model take turns in one thread: both are on the path. On a GPU the host issues work and
the device does it, and the slower of the two paces.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from perftui.ipc.view import GpuView
from perftui.trainer.diagnosis.policy import Policy
from perftui.trainer.diagnosis.signals import RankSignals
from perftui.trainer.diagnosis.trusted import gpu_shares

Pacer: TypeAlias = Literal["loader", "host", "model", "device", "communication", "unknown"]
"""host: the training thread, outside loader and model, or on a GPU all that issues work. model: forward,
backward and optimizer on a CPU. device: the GPU."""
Confidence: TypeAlias = Literal["measured", "likely", "open"]

_COMM_FELT = 0.05


@dataclass(frozen=True)
class Pace:
    """What the step of one rank is made of."""

    rank: int
    pacer: Pacer
    path: frozenset[Pacer]
    """Everything whose shortening makes the step shorter."""
    parts: dict[str, float]
    """Exposed shares of the step: loader, model, communication, host; what was not measured is absent."""
    confidence: Confidence
    why: str

    def paces(self, *pacers: Pacer) -> bool:
        """Tell whether any of these is on the path, or may be."""
        return bool(self.path & frozenset(pacers))


def pace_of(rank: RankSignals, gpu: GpuView | None, wait: float | None, policy: Policy) -> Pace:
    """Return who paces a rank.

    Args:
        rank: its window.
        gpu: the GPU it uses, joined to the same steps; None where there is none or it was not read.
        wait: share of the step that it steadily waits for its loader; None: not measured.
        policy: thresholds.
    """
    parts = _parts(rank, wait)
    starved = parts.get("loader", 0.0) >= policy.wait_warning
    beside = rank.loader is not None and rank.loader.num_workers > 0
    if starved and beside:
        why = "workers prepare batches beside the model, and the training waits for them"
        return Pace(rank.rank, "loader", frozenset({"loader"}), parts, "measured", why)
    if rank.device == "cpu" or rank.device == "unknown":
        return _on_cpu(rank, parts, policy)
    return _on_gpu(rank, gpu, parts, policy, starved=starved)


def _parts(rank: RankSignals, wait: float | None) -> dict[str, float]:
    shares = rank.shares
    model = [shares.forward, shares.backward, shares.optimizer, shares.h2d]
    parts = {
        "loader": wait,
        "model": sum(part for part in model if part is not None) if any(model) else None,
        "communication": shares.comm_exposed,
        "host": shares.other,
    }
    return {name: value for name, value in parts.items() if value is not None}


def _on_cpu(rank: RankSignals, parts: dict[str, float], policy: Policy) -> Pace:
    path: set[Pacer] = {"model"}
    if parts.get("loader", 0.0) >= policy.wait_warning:
        path.add("loader")
    if parts.get("communication", 0.0) >= _COMM_FELT:
        path.add("communication")
    if parts.get("host", 0.0) >= _COMM_FELT:
        path.add("host")
    named: dict[str, Pacer] = {
        "loader": "loader",
        "model": "model",
        "communication": "communication",
        "host": "host",
    }
    longest = max(parts, key=lambda name: parts[name], default="model")
    pacer = named[longest] if named[longest] in path else "model"
    why = "loading, model and script take turns in one thread"
    return Pace(rank.rank, pacer, frozenset(path), parts, "measured" if parts else "open", why)


def _on_gpu(
    rank: RankSignals, gpu: GpuView | None, parts: dict[str, float], policy: Policy, *, starved: bool
) -> Pace:
    also: set[Pacer] = {"loader"} if starved else set()
    if _comm_on_device(rank, parts) >= _COMM_FELT:
        also.add("communication")
    pacer, confidence, why = _host_or_device(rank, gpu, policy)
    if starved:
        pacer = "loader"
    both: set[Pacer] = {"host", "device"} if pacer in ("unknown", "loader") else {pacer}
    return Pace(rank.rank, pacer, frozenset(also | both), parts, confidence, why)


def _comm_on_device(rank: RankSignals, parts: dict[str, float]) -> float:
    times = rank.device_ms
    if times is not None and times.comm_exposed_ms is not None and times.step_ms > 0:
        return times.comm_exposed_ms / times.step_ms
    return parts.get("communication", 0.0)


def _host_or_device(rank: RankSignals, gpu: GpuView | None, policy: Policy) -> tuple[Pacer, Confidence, str]:
    shares = gpu_shares(rank.report)
    if shares is not None:
        idle = shares.idle
        if idle < policy.launch_idle:
            return "device", "measured", f"in the window the GPU idled {100 * idle:.0f} % of the time"
        return "host", "measured", f"in the window the GPU idled {100 * idle:.0f} % of the time"
    busy = None if gpu is None or not gpu.window_steps else gpu.graphics_share
    if busy is None:
        return "unknown", "open", "whether the GPU works or waits was not measured"
    told = f"an engine of the GPU was busy {100 * busy:.0f} % of the time"
    if busy >= policy.gpu_busy:
        return "device", "likely", told
    if busy < policy.gpu_idle:
        return "host", "likely", told
    return "unknown", "open", told
