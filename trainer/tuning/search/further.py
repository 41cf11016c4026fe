"""Experiments beyond a finding's own remedy: what else is worth a try where it was found, as data.

The figures under `expected` are priors of judgement for GPUs, not measurements: they order what is tried and
are shown beside what came out. Two-way settings make some trainings faster and others slower.
"""

from dataclasses import dataclass, field

from perftui.ipc.settings import Settings, SettingValue


@dataclass(frozen=True)
class Further:
    """One experiment."""

    set: Settings
    share: float | None = None
    """Of the finding's own share of the step that it may save; None: `expected` says what is hoped for."""
    expected: float = 1.0
    after: Settings = field(default_factory=dict[str, SettingValue])
    """Only where one of these is in force: the other half of a pair that brings nothing alone."""
    gpu_only: bool = True
    replaces: tuple[str, ...] = ()
    """Settings whose place it may take though they have proved faster: it does what they do, and more."""
    most_share: float = 1.0
    """Only where the finding costs no more than this share of the step."""


_AUTOCAST = Further({"precision.autocast": "bf16"}, expected=1.4, replaces=("precision.tf32",))
_TF32 = Further({"precision.tf32": True}, expected=1.3)
_CHANNELS = Further(
    {"layout.channels_last": True},
    expected=1.15,
    after={"precision.autocast": "bf16", "precision.tf32": True},
)
_COMPILE = Further({"compile.mode": "default"}, expected=1.15)
_BENCHMARK = Further({"cudnn.benchmark": True}, expected=1.05)
_FUSED = Further({"optimizer.fused": True}, expected=1.03)
_PREFETCH = Further({"loader.prefetch_factor": 4}, share=0.2, gpu_only=False, most_share=0.3)
"""It evens out bursts; workers that are too slow on average stay so."""
_DEVICE = (_AUTOCAST, _TF32, _CHANNELS, _COMPILE, _BENCHMARK, _FUSED)

FURTHER: dict[str, tuple[Further, ...]] = {
    "input.workers": (_PREFETCH,),
    "input.storage": (_PREFETCH,),
    "launch.bound": (Further({"compile.mode": "default"}, share=0.5),),
    "compute.fp32": (_AUTOCAST,),
    "compute.bound": _DEVICE,
    "compute.operator": _DEVICE,
    "compute.optimizer": (Further({"optimizer.foreach": True}, share=0.4, gpu_only=False),),
    "comm.exposed": (
        Further({"ddp.bucket_cap_mb": 50}, share=0.2, gpu_only=False),
        Further({"ddp.gradient_as_bucket_view": True}, share=0.1, gpu_only=False),
    ),
}
"""By the code of the finding."""

UNTOLD: dict[str, float] = {
    "compute.fp32": 1.3,
    "debug.anomaly": 1.3,
    "debug.launch_blocking": 1.3,
    "comm.find_unused": 1.05,
    "comm.buckets": 1.05,
    "input.too_many_workers": 1.1,
    "cpu.oversubscribed": 1.1,
    "pause.gc": 1.05,
}
"""What to hope for of a finding's own remedy where the finding has no figure for it."""
