"""Which rules there are, what may follow from what, and what stands before what."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from perftui.ipc.findings import Finding
from perftui.trainer.diagnosis.case import Case
from perftui.trainer.diagnosis.follows import (
    design_makes_it_long,
    memory_delays_loading,
    memory_takes_time,
    quota_costs_as_much,
    threads_hold_workers_up,
    waits_for_a_save,
    workers_begin_anew,
)
from perftui.trainer.diagnosis.readiness import Abstention
from perftui.trainer.diagnosis.rules import (
    communication,
    compiling,
    compute,
    cpu_cores,
    data_semantics,
    debugging,
    device_window,
    drift,
    gpu_compute,
    gpu_state,
    memory,
    pauses,
    scaling,
    stragglers,
    training_thread,
    transfers,
)
from perftui.trainer.diagnosis.rules.compute_bound import compute_bound
from perftui.trainer.diagnosis.rules.crowd import crowd
from perftui.trainer.diagnosis.rules.epoch_waits import cold_start, epoch_start
from perftui.trainer.diagnosis.rules.operators import operator
from perftui.trainer.diagnosis.rules.own_state import contended, dropped, overhead
from perftui.trainer.diagnosis.rules.proportions import backward_ratio
from perftui.trainer.diagnosis.rules.single_samples import small_batch_on_cpu
from perftui.trainer.diagnosis.rules.starvation import starvation
from perftui.trainer.diagnosis.rules.straggler_input import straggler_input
from perftui.trainer.diagnosis.rules.worker_seeds import worker_seed

Evaluate: TypeAlias = Callable[[Case], Iterable[Finding | Abstention]]
Holds: TypeAlias = Callable[[Case, Finding, Finding], bool]
"""Takes the cause, and what may follow from it."""


@dataclass(frozen=True)
class Rule:
    """One rule and the codes it may find, those that a rule before it finds as well left out."""

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
    Rule((), crowd),
    Rule(("input.cold_start",), cold_start),
    Rule(("input.inline",), training_thread.inline),
    Rule(("cpu.python",), training_thread.python),
    Rule(("cpu.oversubscribed",), cpu_cores.oversubscribed),
    Rule(("cpu.quota",), cpu_cores.quota),
    Rule(("cpu.affinity",), cpu_cores.affinity),
    Rule(("transfer.pageable",), transfers.pageable),
    Rule(("transfer.many_small",), transfers.many_small),
    Rule(("sync.each_step",), device_window.sync),
    Rule(("launch.bound",), device_window.launch),
    Rule(("compute.device",), compute.device),
    Rule(("compute.fp32",), gpu_compute.fp32),
    Rule(("compute.layout",), gpu_compute.layout),
    Rule(("compute.small_batch",), gpu_compute.small_batch),
    Rule(("compute.optimizer",), compute.optimizer),
    Rule(("compute.denormals",), compute.denormals),
    Rule((), small_batch_on_cpu),
    Rule(("compute.operator",), operator),
    Rule(("compute.backward_ratio",), backward_ratio),
    Rule(("compute.bound",), compute_bound),
    Rule(
        (
            "compile.recompiles",
            "compile.graph_breaks",
            "compile.cudagraph_skips",
            "compile.not_worth",
            "compile.warming_up",
        ),
        compiling.compiling,
    ),
    Rule(("debug.anomaly",), debugging.anomaly),
    Rule(("debug.launch_blocking",), debugging.launch_blocking),
    Rule(("debug.detail",), debugging.detail),
    Rule(("debug.profiler_left_on",), debugging.profiler_left_on),
    Rule(("comm.exposed",), communication.exposed),
    Rule(("comm.no_sync",), communication.no_sync),
    Rule(("comm.find_unused",), communication.find_unused),
    Rule(("comm.buckets",), communication.buckets),
    Rule(("comm.backend",), communication.backend),
    Rule(("comm.fabric",), communication.fabric),
    Rule(("rank.straggler_compute", "rank.straggler_host", "rank.imbalance"), stragglers.stragglers),
    Rule(("gpu.throttled", "gpu.power_capped", "gpu.foreign_process", "gpu.link"), gpu_state.gpu_state),
    Rule(("memory.oom",), memory.out_of_memory),
    Rule(("memory.near_limit",), memory.near_limit),
    Rule(("memory.fragmentation",), memory.fragmentation),
    Rule(("memory.growth", "memory.host_growth"), memory.growth),
    Rule(("memory.shm",), memory.shared_memory),
    Rule(("pause.gc",), pauses.garbage),
    Rule(("pause.checkpoint",), pauses.checkpoint),
    Rule(("pause.validation",), pauses.validation),
    Rule(("pause.logging",), pauses.logging),
    Rule(("drift.slower",), drift.slower),
    Rule(("data.same_on_ranks",), data_semantics.same_on_ranks),
    Rule(("data.same_order",), data_semantics.same_order),
    Rule(("data.worker_seed",), worker_seed),
    Rule(("data.iterable_duplicates",), data_semantics.iterable_duplicates),
    Rule(("scaling.small_per_rank_batch",), scaling.small_per_rank_batch),
    Rule(("scaling.learning_rate", "scaling.efficiency"), scaling.unjudged),
    Rule(("self.contended",), contended),
    Rule(("self.overhead",), overhead),
    Rule(("self.dropped",), dropped),
)

CAUSES: dict[str, tuple[str, ...]] = {
    "input.workers": ("cpu.quota", "cpu.affinity", "cpu.oversubscribed", "memory.near_limit"),
    "input.item": ("cpu.quota", "cpu.affinity", "cpu.oversubscribed"),
    "input.too_many_workers": ("cpu.quota", "cpu.affinity"),
    "input.epoch_start": ("input.too_many_workers",),
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
    "launch.bound": (
        "debug.launch_blocking",
        "debug.anomaly",
        "debug.profiler_left_on",
        "debug.detail",
        "compile.cudagraph_skips",
    ),
    "compute.backward_ratio": (
        "debug.anomaly",
        "input.inline",
        "cpu.python",
        "compute.denormals",
        "compute.operator",
        "compute.bound",
    ),
    "cpu.python": ("pause.checkpoint",),
    "input.inline": ("pause.checkpoint",),
    "compute.operator": ("compute.fp32", "compute.denormals"),
    "compile.not_worth": ("compile.graph_breaks", "compile.recompiles"),
    "drift.slower": ("memory.growth", "memory.host_growth", "memory.near_limit", "gpu.throttled", "pause.gc"),
}
"""What may follow from what: where both are found, the consequence hangs under the cause."""

ONLY_WHERE: dict[tuple[str, str], Holds] = {
    ("input.epoch_start", "input.too_many_workers"): workers_begin_anew,
    ("input.workers", "cpu.oversubscribed"): threads_hold_workers_up,
    ("input.item", "cpu.oversubscribed"): threads_hold_workers_up,
    ("input.workers", "cpu.quota"): quota_costs_as_much,
    ("input.item", "cpu.quota"): quota_costs_as_much,
    ("input.too_many_workers", "cpu.quota"): quota_costs_as_much,
    ("input.workers", "memory.near_limit"): memory_delays_loading,
    ("drift.slower", "memory.near_limit"): memory_takes_time,
    ("cpu.python", "pause.checkpoint"): waits_for_a_save,
    ("input.inline", "pause.checkpoint"): waits_for_a_save,
    ("compute.backward_ratio", "compute.bound"): design_makes_it_long,
}
"""By consequence and cause: what must hold as well for the one to follow from the other."""

FIRST = ("memory.oom", "debug.", "data.", "compute.device", "comm.find_unused")
"""Begin of codes that stand first among equally severe ones: switches and mistakes that cost for nothing."""

ENDING = ("memory.oom", "memory.growth")
"""Codes that stand before all else when they are critical: they end the training, whatever slows it."""

IN_DOUBT = frozenset(
    {
        "input.workers",
        "input.item",
        "input.too_many_workers",
        "rank.straggler_compute",
        "rank.straggler_host",
    }
)
"""What other work on a busy host may explain."""

ASIDE = ("self.", "cpu.affinity", "input.workers", "gpu.power_capped")
"""Begin of codes whose remarks come last, after "nothing to fix": they speak of the measuring, of an
allocation, of a wait too short to be worth anything, of what full load looks like."""

HEALTHY = ("compute.bound",)
"""Said of a run only when nothing else is known to cost it anything."""

CODES: tuple[str, ...] = tuple(code for rule in RULES for code in rule.codes)
"""Every code that may be found, in the order of the rules."""
