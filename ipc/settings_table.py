"""The one table of settings: what a relaunch may alter, as data.

`--set`, docs/settings.md, the tuner and the screen all read it. Standard library alone: every Python process
of a trial reads it at its start. What a prerequisite means in terms of facts is in `prerequisites`.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

SettingValue: TypeAlias = bool | int | str | None
Settings: TypeAlias = dict[str, SettingValue]
Semantics: TypeAlias = Literal["neutral", "numeric", "changes-training"]
Place: TypeAlias = Literal[
    "DataLoader",
    "module",
    "switch",
    "optimizer",
    "DistributedDataParallel",
    "environment",
    "command line",
]
"""Where a setting takes hold: arguments of a constructor, the module that is optimised, a switch of the
process, its environment, or the words that start it."""


@dataclass(frozen=True)
class Setting:
    """One row of the table."""

    name: str
    kind: Literal["int", "bool", "choice", "text"]
    semantics: Semantics
    what: str
    """One phrase for a person."""
    minimum: int = 0
    maximum: int = 0
    choices: tuple[str, ...] = ()
    place: Place = "DataLoader"
    needs: tuple[str, ...] = ()
    """Names in `prerequisites.PREREQUISITES`: without them it cannot be applied, or brings nothing."""
    can_crash: str | None = None
    """When a training that ran without it may fail with it."""

    def values(self) -> str:
        """Return the values in words."""
        if self.kind == "int":
            return f"{self.minimum} to {self.maximum}"
        return {"bool": "true, false", "choice": ", ".join(self.choices), "text": "text"}[self.kind]


@dataclass(frozen=True)
class Group:
    """Settings of which one at most may be on: one slot of a search."""

    members: tuple[str, ...]
    reason: str


_WORKERS = ("workers",)
_MODULE_CALL = ("called_module",)
_DDP = ("ddp",)
_GPU = ("gpu",)

TABLE: tuple[Setting, ...] = (
    Setting(
        "loader.num_workers",
        "int",
        "neutral",
        "loader worker processes",
        0,
        512,
        needs=("sharded_stream", "host_batches"),
    ),
    Setting(
        "loader.pin_memory",
        "bool",
        "neutral",
        "batches copied to page-locked memory",
        needs=(*_GPU, "host_batches"),
    ),
    Setting("loader.persistent_workers", "bool", "neutral", "workers kept over epochs", needs=_WORKERS),
    Setting(
        "loader.prefetch_factor", "int", "neutral", "batches each worker loads ahead", 1, 64, needs=_WORKERS
    ),
    Setting(
        "loader.multiprocessing_context",
        "choice",
        "neutral",
        "how workers are started",
        choices=("fork", "spawn", "forkserver"),
        needs=_WORKERS,
        can_crash="spawn and forkserver, where the dataset or a function of the loader cannot be pickled",
    ),
    Setting(
        "loader.in_order",
        "bool",
        "changes-training",
        "batches in the order of the sampler, however long each takes",
    ),
    Setting(
        "compile.mode",
        "choice",
        "numeric",
        "torch.compile of the module that is optimised, in place; off: none, the script's own neither",
        choices=("off", "default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"),
        place="module",
        needs=(*_MODULE_CALL, "not_compiled", "static_shapes"),
        can_crash="reduce-overhead and max-autotune, where the script keeps an output over steps; all but "
        "off, where the script differentiates gradients again (create_graph) only later",
    ),
    Setting(
        "compile.dynamic",
        "bool",
        "numeric",
        "shapes as variables (true) or one graph a shape (false)",
        place="module",
        needs=(*_MODULE_CALL, "not_compiled"),
    ),
    Setting(
        "compile.backend",
        "text",
        "numeric",
        "what makes code of graphs: inductor, aot_eager, eager, …",
        place="module",
        needs=(*_MODULE_CALL, "not_compiled"),
    ),
    Setting(
        "compile.fullgraph",
        "bool",
        "numeric",
        "a graph break is an error",
        place="module",
        needs=(*_MODULE_CALL, "not_compiled"),
        can_crash="true, at the first graph break",
    ),
    Setting(
        "precision.tf32",
        "bool",
        "numeric",
        "float32 products and convolutions on tensor cores, in TF32",
        place="switch",
        needs=(*_GPU, "float32"),
    ),
    Setting(
        "precision.autocast",
        "choice",
        "numeric",
        "lower precision round the forward; fp16 with loss scaling where the script has none",
        choices=("off", "bf16", "fp16"),
        place="module",
        needs=(*_MODULE_CALL, "float32"),
        can_crash="bf16 and fp16, where the script's own backwards or hooks take gradients to be float32",
    ),
    Setting(
        "layout.channels_last",
        "bool",
        "numeric",
        "images and kernels with the channels innermost",
        place="module",
        needs=(*_MODULE_CALL, "four_d", "not_sharded"),
        can_crash="where the script takes a view of memory that only the other layout allows",
    ),
    Setting(
        "cudnn.benchmark",
        "bool",
        "numeric",
        "cuDNN tries its algorithms for each shape of a convolution",
        place="switch",
        needs=(*_GPU, "four_d", "static_shapes"),
    ),
    Setting(
        "optimizer.fused",
        "bool",
        "numeric",
        "one kernel for the whole update",
        place="optimizer",
        needs=("optimizer_argument",),
    ),
    Setting(
        "optimizer.foreach",
        "bool",
        "numeric",
        "the update over lists of tensors at once",
        place="optimizer",
        needs=("optimizer_argument",),
    ),
    Setting(
        "ddp.bucket_cap_mb",
        "int",
        "numeric",
        "megabytes of gradients reduced at once",
        1,
        4096,
        place="DistributedDataParallel",
        needs=_DDP,
    ),
    Setting(
        "ddp.gradient_as_bucket_view",
        "bool",
        "numeric",
        "gradients live in the buckets: no copy",
        place="DistributedDataParallel",
        needs=_DDP,
        can_crash="where the script detaches gradients in place",
    ),
    Setting(
        "ddp.static_graph",
        "bool",
        "numeric",
        "the same parameters take part in each step",
        place="DistributedDataParallel",
        needs=_DDP,
        can_crash="true, where they do not",
    ),
    Setting(
        "ddp.find_unused_parameters",
        "bool",
        "numeric",
        "look in each step for parameters that take no part",
        place="DistributedDataParallel",
        needs=_DDP,
        can_crash="false, where some take no part",
    ),
    Setting(
        "gc.freeze",
        "bool",
        "neutral",
        "Python's collector leaves alone what exists when the first step ends",
        place="switch",
    ),
    Setting(
        "debug.anomaly",
        "bool",
        "neutral",
        "autograd's anomaly detection; false: off, even where the script asks for it",
        place="switch",
    ),
    Setting(
        "debug.launch_blocking",
        "bool",
        "neutral",
        "the host waits for each kernel (CUDA_LAUNCH_BLOCKING); false: off, even where it is set",
        place="environment",
        needs=_GPU,
    ),
    Setting(
        "torchrun.nproc_per_node",
        "int",
        "changes-training",
        "ranks on each host",
        1,
        1024,
        place="command line",
        needs=("torchrun",),
    ),
)
"""`loader.X` speaks of the first DataLoader that the script builds, `loader[1].X` of the second."""

GROUPS: tuple[Group, ...] = (
    Group(
        ("precision.tf32", "precision.autocast"),
        "under autocast the products are in lower precision already, and TF32 has nothing left to speed up",
    ),
    Group(("optimizer.fused", "optimizer.foreach"), "torch takes one of the two implementations"),
)


def is_on(value: SettingValue) -> bool:
    """Tell whether a value asks for something, rather than for its absence."""
    return bool(value) and value != "off"
