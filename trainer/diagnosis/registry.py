"""Which rules there are, what may follow from what, and what stands before what."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from perftui.ipc.findings import Finding
from perftui.trainer.diagnosis.case import Case
from perftui.trainer.diagnosis.readiness import Abstention
from perftui.trainer.diagnosis.rules.compute_bound import compute_bound
from perftui.trainer.diagnosis.rules.epoch_waits import cold_start, epoch_start
from perftui.trainer.diagnosis.rules.own_state import contended, dropped, overhead
from perftui.trainer.diagnosis.rules.starvation import starvation
from perftui.trainer.diagnosis.rules.straggler_input import straggler_input

Evaluate: TypeAlias = Callable[[Case], Iterable[Finding | Abstention]]


@dataclass(frozen=True)
class Rule:
    """One rule and the codes it may find."""

    codes: tuple[str, ...]
    evaluate: Evaluate


RULES: tuple[Rule, ...] = (
    Rule(("rank.straggler_input",), straggler_input),
    Rule(
        (
            "input.workers",
            "input.item",
            "input.storage",
            "input.collate",
            "input.one_slow_worker",
            "input.too_many_workers",
        ),
        starvation,
    ),
    Rule(("input.epoch_start",), epoch_start),
    Rule(("input.cold_start",), cold_start),
    Rule(("compute.bound",), compute_bound),
    Rule(("self.contended",), contended),
    Rule(("self.overhead",), overhead),
    Rule(("self.dropped",), dropped),
)

CAUSES: dict[str, tuple[str, ...]] = {
    "input.workers": ("cpu.quota", "cpu.affinity", "cpu.oversubscribed", "memory.near_limit"),
    "input.item": ("cpu.quota", "cpu.affinity", "cpu.oversubscribed"),
    "input.too_many_workers": ("cpu.quota", "cpu.affinity"),
    "cpu.oversubscribed": ("cpu.quota", "cpu.affinity"),
    "rank.straggler_compute": ("gpu.throttled", "gpu.foreign_process", "compute.device"),
    "comm.exposed": (
        "rank.straggler_input",
        "rank.straggler_compute",
        "rank.straggler_host",
        "rank.imbalance",
        "comm.no_sync",
        "comm.backend",
        "comm.buckets",
        "comm.fabric",
        "scaling.small_per_rank_batch",
        "gpu.link",
    ),
    "launch.bound": ("debug.launch_blocking", "debug.anomaly", "debug.profiler_left_on", "debug.detail"),
    "compute.backward_ratio": ("debug.anomaly", "input.inline", "cpu.python", "compute.denormals"),
    "drift.slower": ("memory.growth", "memory.host_growth", "memory.near_limit", "gpu.throttled", "pause.gc"),
    "memory.growth": ("memory.near_limit",),
}
"""What may follow from what: where both are found, the consequence hangs under the cause."""

FIRST = ("memory.oom", "debug.", "data.", "compute.device")
"""Begin of codes that stand first among equally severe ones: switches and mistakes that cost for nothing."""

IN_DOUBT = frozenset(
    {
        "input.workers",
        "input.item",
        "input.too_many_workers",
        "input.one_slow_worker",
        "rank.straggler_compute",
        "rank.straggler_host",
        "rank.imbalance",
        "drift.slower",
        "comm.exposed",
    }
)
"""What other work on a busy host may explain."""

HEALTHY = ("compute.bound",)
"""Said of a run only when nothing else is known to cost it anything."""
