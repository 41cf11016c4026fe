"""What a rank tells of itself beside its steps: one struct for each subject, sent when it changes.

Counts and times are totals since the process began (or since the probe could first look); whoever wants a
rate takes the difference of two readings. `None` means "not measured", and `missing` says why: a name of a
field, or in `RankFacts` of a subject, with the reason.
"""

from typing import Literal, TypeAlias, get_args

import msgspec

from perftui.ipc.loader_facts import LoadingFacts, SamplingFacts

RunPhase: TypeAlias = Literal[
    "starting", "training", "validation", "checkpoint", "compiling", "between", "ending"
]
"""What a rank is at. starting: before its first step (imports, building, data). between: from the last work
of an epoch to the first batch of the next, or to the first of all. ending: after its last step."""
RUN_PHASES: tuple[RunPhase, ...] = get_args(RunPhase)


class _Facts(msgspec.Struct, frozen=True, kw_only=True):
    pass


class Recompiled(_Facts, frozen=True, kw_only=True):
    """A function that torch.compile compiled again."""

    function: str
    at: str
    """File and first line."""
    count: int
    reason: str | None = None
    """The guard that failed, of the newest time; None where this torch does not tell."""


class GraphBreak(_Facts, frozen=True, kw_only=True):
    """A place where torch.compile had to cut a graph, or what it could not compile."""

    reason: str
    at: str | None
    """File and line of the innermost frame; None where torch does not tell."""
    count: int = 1


class CompileFacts(_Facts, frozen=True, kw_only=True):
    """What torch.compile did in this process; read from what is private to torch, so any part may be None."""

    frames: int | None = None
    """Python frames compiled, the recompiled ones again."""
    graphs: int | None = None
    """Graphs handed to a backend."""
    recompiles: int | None = None
    """Compilations of a function that was compiled before."""
    graph_breaks: int | None = None
    limit_hits: int | None = None
    """How often a function reached the limit of recompilations: it runs uncompiled from then on."""
    failures: int | None = None
    """Compilations that were given up, the limit of recompilations apart."""
    compile_s: float | None = None
    """Time in compilations, forward, backward and at run time."""
    cudagraph_skips: int | None = None
    recompiled: list[Recompiled] = []
    """The newest functions, at most 16."""
    breaks: list[GraphBreak] = []
    """The newest places, at most 16."""
    uncompiled: list[GraphBreak] = []
    """Functions that run uncompiled, with the reason: the newest failures and limit hits, at most 16."""
    skip_reasons: list[str] = []
    """Why CUDA graphs were not used, at most 8."""
    missing: dict[str, str] = {}


class GcFacts(_Facts, frozen=True, kw_only=True):
    """Python's garbage collections, by generation from the youngest: totals since the probe watches."""

    counts: list[int]
    total_ms: list[float]
    longest_ms: float
    long_pauses: int
    """How many took `PAUSE_MS` (10 ms) or more: these are events too."""
    enabled: bool
    """Whether collections start by themselves."""
    threshold: list[int]


class AllocatorFacts(_Facts, frozen=True, kw_only=True):
    """The caching allocator of the GPU in use. `alloc_retries` and what follows are totals of the process."""

    device: str
    allocated_mib: float
    reserved_mib: float
    inactive_split_mib: float | None
    """Free parts of blocks that are partly in use: memory that fragmentation holds."""
    peak_allocated_mib: float
    peak_reserved_mib: float
    alloc_retries: int
    """How often no memory was to be had, and the cache was freed before a second attempt."""
    ooms: int
    device_allocs: int | None = None
    """Calls to cudaMalloc; growing after the first steps, something empties the cache."""
    device_frees: int | None = None


class BackendFacts(_Facts, frozen=True, kw_only=True):
    """Switches of torch that are in force for the whole process."""

    cudnn_benchmark: bool | None = None
    cudnn_deterministic: bool | None = None
    cudnn_allow_tf32: bool | None = None
    matmul_allow_tf32: bool | None = None
    float32_matmul_precision: str | None = None
    """highest, high, medium: the older switch; None where the script mixes it with the newer ones."""
    fp32_precision: str | None = None
    """none, ieee, tf32: the newer switch (torch 2.9), for all backends."""
    matmul_fp32_precision: str | None = None
    conv_fp32_precision: str | None = None
    sdp: list[str] | None = None
    """Kernels that scaled dot product attention may choose from: flash, mem_efficient, math, cudnn."""
    deterministic: bool | None = None
    deterministic_warn_only: bool | None = None
    anomaly: bool | None = None
    anomaly_check_nan: bool | None = None
    num_threads: int | None = None
    interop_threads: int | None = None
    profiler: bool | None = None
    """A profiler of torch runs; None while perftui's own window does."""
    tracer: str | None = None
    """A debugger or coverage tool that traces Python code; None: none was found."""
    autocast: str | None = None
    """Always None: it is set for each thread, and no other thread can read it."""
    missing: dict[str, str] = {}


class DdpFacts(_Facts, frozen=True, kw_only=True):
    """The live DistributedDataParallel; the last that was built, where there are several."""

    modules: int
    bucket_cap_mb: float | None
    gradient_as_bucket_view: bool | None
    static_graph: bool | None
    find_unused_parameters: bool | None
    comm_hook: str | None
    backend: str | None
    world_size: int | None
    buckets_mib: list[float] | None = None
    """Sizes of the buckets in force, in the order of their reduction, at most 64."""
    backwards_per_step: float | None = None
    """Mean over the sampled steps; None before the first of them."""
    syncs_per_step: float | None = None
    """How many of these sum gradients over the ranks: one with `no_sync`, all of them without."""
    all_reduces_per_step: float | None = None
    """Of gradients: one a bucket and synchronisation; None with several modules."""


class FsdpFacts(_Facts, frozen=True, kw_only=True):
    """Sharding of the model."""

    version: int
    """1: FullyShardedDataParallel, 2: fully_shard."""
    units: int
    sharding: str | None = None
    """Version 1: FULL_SHARD, SHARD_GRAD_OP, …"""
    reshard_after_forward: bool | None = None
    """Whether parameters are given up after the forward, and gathered again for the backward. This and what
    follows of version 2, of its first unit."""
    shard_size: int | None = None
    """Ranks among which a parameter is divided."""
    replicate_size: int | None = None
    """Ranks that hold the same part; None: none do."""
    param_dtype: str | None = None
    """In which parameters are gathered; None: their own."""
    cpu_offload: bool | None = None
    all_gathers_per_step: float | None = None
    """Mean over all steps, those of validations left out."""
    reduce_scatters_per_step: float | None = None
    missing: dict[str, str] = {}
    """Why a figure is None; `comm_exposed`: why the rank has no share of that name."""


class ParallelFacts(_Facts, frozen=True, kw_only=True):
    """How the ranks work together."""

    backend: str | None = None
    """Of the default process group: nccl, gloo, …; None without one."""
    world_size: int | None = None
    ddp: DdpFacts | None = None
    fsdp: FsdpFacts | None = None
    data_parallel: bool = False
    """The older DataParallel: one process for several GPUs."""


class OptimizerFacts(_Facts, frozen=True, kw_only=True):
    """One optimizer that is alive."""

    kind: str
    groups: int
    tensors: int
    parameters: int
    """Numbers in all its tensors."""
    lr: float | None = None
    """Of the first group; None where reading it would make the GPU wait."""
    flags: dict[str, bool | None] = {}
    """foreach, fused, capturable, amsgrad, …, of the first group; None: torch chooses."""


class ModelFacts(_Facts, frozen=True, kw_only=True):
    """What all living optimizers train, each parameter once."""

    tensors: int
    parameters: int
    mib: float
    dtypes: dict[str, int]
    """Parameters by type."""
    devices: dict[str, int]
    """Parameters by device."""
    four_d: int = 0
    """Tensors of four dimensions whose memory format can be told."""
    channels_last: float | None = None
    """Share of these that are in channels_last."""
    sharded: int = 0
    """Tensors of which this rank holds a part (DTensor)."""
    grad_scaler: bool = False
    """A GradScaler is alive and enabled."""
    subnormal: float | None = None
    """Share of sampled numbers on the CPU that are not 0 and so small that the CPU is slow with them: of what
    is trained, and of parameters and buffers that are not. None: no such numbers there."""


class TensorFacts(_Facts, frozen=True, kw_only=True):
    """One tensor of a batch."""

    shape: list[int]
    dtype: str
    device: str
    pinned: bool | None = None
    """In page-locked memory; None: on a device, or CUDA is not in use."""


class BatchSignature(_Facts, frozen=True, kw_only=True):
    """What a batch looks like: its first tensors, at most 8."""

    tensors: list[TensorFacts]
    more: bool = False
    """There are further tensors."""


class BatchFacts(_Facts, frozen=True, kw_only=True):
    """Batches of the training loader that were looked at: the first and every 256th."""

    looked: int
    newest: BatchSignature
    distinct_shapes: int
    """Different sets of shapes among them, at most 64."""
    examples: list[list[int]] = []
    """Shapes of the first tensor that differ, at most 4."""
    padding_share: float | None = None
    """Share of the tokens that an attention mask leaves out, mean over the batches that were looked at; None
    without a mask in host memory."""


class PhaseFacts(_Facts, frozen=True, kw_only=True):
    """What the rank is at, and what its time went to since its process began. Times in ns of `perf_counter`.

    Told when the phase or the sums change, else every ten seconds: until the next word the phase goes on.
    """

    phase: RunPhase
    since_ns: int
    """When it began."""
    at_ns: int
    """Until when the sums go."""
    began_ns: int
    """When the process began."""
    newest_ns: int
    """When the training thread was last seen to do anything."""
    seconds: dict[str, float]
    """By phase; they sum to `at_ns` minus `began_ns`."""


class ProcessFacts(_Facts, frozen=True, kw_only=True):
    """The rank's own process, without its workers."""

    rss_mib: float
    """Resident memory."""
    threads: int
    voluntary_switches: int
    """How often its threads gave up the CPU to wait, since it began."""
    involuntary_switches: int
    """How often they were made to."""
    file_mib: float | None = None
    """Of the resident memory, pages of mapped files: the system takes them back when it needs them. None: the
    kernel does not tell."""


class StackPlace(_Facts, frozen=True, kw_only=True):
    """A line at which the training thread was found."""

    area: str
    """What it was doing: dataset, collate, loader, model, backward, optimizer, communication, compile,
    checkpoint, logging, device (waiting for the GPU, as in `.item()`), or script for anything else."""
    at: str
    """File, line and function: the innermost frame that is the script's own, else the innermost."""
    line: str | None = None
    """The source of that line, shortened; None where it cannot be read."""
    count: int = 0


class StackFacts(_Facts, frozen=True, kw_only=True):
    """Where the training thread was when it was looked at, ten times a second since the first step."""

    looks: int
    areas: dict[str, int]
    """Looks by area; they sum to `looks`."""
    places: list[StackPlace] = []
    """Where it was found most, at most 24."""
    awaited: dict[str, int] = {}
    """Looks that found it waiting for a batch of this loader worker, by its number."""
    others_ready: int = 0
    """Of these: looks at which all batches of the other workers were there already."""
    traced: dict[str, int] = {}
    """Looks that found Python itself watched, by what: `sys.settrace`, or a module of Python that runs the
    script, such as cProfile."""
    waits_told: bool = False
    """Whether waits for the GPU have an area of their own (device); else they count to their line's."""
    recomputing: int = 0
    """Looks that found a forward running again within the backward: activation checkpointing. On a GPU in the
    thread of the backward's own."""
    order: dict[str, int] = {}
    """Of the looks in the script's own lines those of which it is known, by the order of lines: before (the
    model's first call), after (it), behind (the backward)."""
    no_gradient: int = 0
    """Looks in the forward of a model that leaves no gradient: nothing of it is trained, or gradients are
    off. Validations are left out."""
    saving: int = 0
    """Looks that found it waiting in the script's own lines while another thread wrote a checkpoint."""


class RankFacts(_Facts, frozen=True, kw_only=True):
    """All subjects."""

    compile: CompileFacts | None = None
    gc: GcFacts | None = None
    allocator: AllocatorFacts | None = None
    backends: BackendFacts | None = None
    environment: dict[str, str] | None = None
    """Variables that matter to speed, those of a fixed list alone."""
    own_environment: list[str] | None = None
    """Of these, those whose value the script has set itself: the process did not start with it."""
    parallel: ParallelFacts | None = None
    optimizers: list[OptimizerFacts] | None = None
    model: ModelFacts | None = None
    sampling: SamplingFacts | None = None
    batch: BatchFacts | None = None
    phases: PhaseFacts | None = None
    missing: dict[str, str] = {}
    """Subject → why it is None."""
    process: ProcessFacts | None = None
    stacks: StackFacts | None = None
    loading: LoadingFacts | None = None

    @property
    def compiles_now(self) -> bool:
        """Whether the training thread is compiling at the moment."""
        return self.phases is not None and self.phases.phase == "compiling"


def merged(before: RankFacts, news: RankFacts) -> RankFacts:
    """Return `before` with what `news` tells: a value, or a reason why there is none; the rest stays."""
    told = {name: getattr(news, name) for name in SUBJECTS if getattr(news, name) is not None}
    told |= {name: None for name in news.missing if name in SUBJECTS and name not in told}
    missing = {name: reason for name, reason in before.missing.items() if name not in told}
    missing |= {name: reason for name, reason in news.missing.items() if getattr(news, name, None) is None}
    return msgspec.structs.replace(before, **told, missing=missing)


SUBJECTS: tuple[str, ...] = tuple(name for name in RankFacts.__struct_fields__ if name != "missing")
