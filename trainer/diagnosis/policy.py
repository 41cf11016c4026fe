"""Every threshold of the diagnosis, with its unit and source; a part of them lies in `data_policy`."""

from dataclasses import dataclass

from perftui.ipc.crowded import CROWDED_SHARE
from perftui.trainer.diagnosis.data_policy import DataPolicy


@dataclass(frozen=True)
class Policy(DataPolicy):
    """All in force. Shares are 0-1 of a step's wall time unless a docstring says otherwise."""

    wait_warning: float = 0.10
    """Share. Exposed loader wait from which it is worth a change; as TraceML 0.5.0's input rule. Of a loader
    without workers what these could win counts (`handover_ms`)."""
    wait_critical: float = 0.20
    """Share. Exposed loader wait from which it is the first thing to change; as TraceML 0.5.0."""
    wait_floor_ms: float = 2.0
    """Milliseconds a step. Below, workers are not worth it: handing one batch over from a worker process
    took 1.2-1.4 ms on a 2-core machine (torch 2.14, empty dataset)."""
    handover_ms: float = 1.3
    """Milliseconds a batch. What stays exposed of loading when worker processes do it: they hand each batch
    over in that time (same measurement)."""

    steps_warning: int = 5
    """Steps. Least window for any judgement; own choice: means of fewer are noise."""
    steps_least: int = 2
    """Steps. Enough where they took `window_long_s` together: steps of many seconds are noise to nobody."""
    window_long_s: float = 20.0
    """Seconds of steps; own choice."""
    steps_critical: int = 20
    """Steps. Least window for `critical`; as TraceML 0.5.0."""
    steps_per_worker: int = 2
    """Steps for each loader worker: with W workers the stall comes every W-th step, so a shorter window may
    miss it or see nothing else."""
    coverage: float = 0.80
    """Share of the window's steps. Least coverage for a cause to be named; as TraceML 0.5.0."""

    straggler_gap: float = 0.10
    """Share. One rank's wait beyond the other ranks'; as TraceML 0.5.0's straggler score (10 / 20 %)."""
    straggler_ratio: float = 2.0
    """Factor. And it waits at least this many times as long: ranks that all starve differ by chance."""
    straggler_alike: float = 0.20
    """Share of the longest wait. Starved ranks within it count as equally starved; own choice."""
    in_step_spread: float = 0.10
    """Share of the slowest rank's mean step. Ranks within it keep step with each other; own choice, above
    the spread of means that two gloo ranks show over 20 steps."""
    straggler_absorbed: float = 0.5
    """Share of the gap. The other ranks' longer forward and backward explain at least this much of it, or
    it is said that where they wait was not seen; own choice."""

    other_share: float = 0.25
    """Share. Time that is nobody's (logging, validation, …): with more, a run is not called healthy; own
    choice, twice the 13 % at which TraceML's rule misjudged its own example on a CPU."""
    busy_thread: float = 0.5
    """Share of wall. CPU time of the training thread under which a run on the CPU is not called busy."""

    contended_info: float = 0.15
    """Share of the usable cores that others' work takes; own choice: less is any desktop's background."""
    contended_warning: float = CROWDED_SHARE
    """Share of the usable cores. From here on step times say little about the run; own choice."""
    pressure: float = 0.10
    """Share of the last 10 s in which some task waited for a CPU (PSI `some avg10`). Where it is measured and
    lower, nobody waits and others' work does no harm yet."""

    short_epoch_steps: int = 50
    """Batches. In shorter epochs, starting workers anew at each epoch is felt; own choice."""
    shm_low_mib: float = 256.0
    """MiB of free /dev/shm below which workers are cautioned: batches pass through it; a container has 64."""
    idle_cores: float = 0.5
    """Share of the usable cores. With fewer busy, starved workers wait for something else than the CPU."""

    worker_busy: float = 0.75
    """Cores a worker that computes all the time; own choice: one that sleeps between batches stays below."""
    worker_idle: float = 0.35
    """Cores a worker. Below, with the rank waiting, workers wait themselves; own choice."""
    worker_cpu_wait: float = 0.20
    """Share of time in which a worker was ready and got no core: too many of them, or of their threads."""
    worker_wants: float = 1.15
    """Cores that a worker computes on or waits for, from which several of its threads compute; one thread
    makes 1 at most, and figures of ten seconds scatter by some hundredths."""
    worker_threads: int = 6
    """Threads a worker. A plain torch worker has two or three, and a pool for two cores adds as many, which
    does little harm; more are pools of a library (mmdetection#6867:
    up to 2048 threads for 4 workers a GPU)."""
    blocked_share: float = 0.15
    """Share of looks that found workers in state D, or of time waiting for block devices: storage."""
    storage_mib_s: float = 4.0
    """MiB a second that storage delivers to the run, from which waiting workers point at storage."""
    pressure_io: float = 0.10
    """Share of time in which some task of the run's cgroup waited for storage (PSI)."""
    major_faults_per_s: float = 20.0
    """Page faults a second that waited for storage, all workers of a rank."""
    takes_over: float = 0.40
    """Share of the wait in which the training thread computes, at least: it takes batches over from workers
    (each tensor by itself, Python objects by unpickling); 0.6 with 512 tensors a batch."""
    takes_over_busy: float = 0.05
    """Cores. The same on a busy host, at least, and at least what a worker computes; own choice."""
    many_tensors: int = 8
    """Tensors of a batch, more than which it is handed over in pieces; as many as are looked at."""
    collating: float = 0.60
    """Share of the time that workers spend on a batch, from which putting it together is the cause."""
    collating_timed: float = 0.50
    """The same where each batch is timed and not only looked at; own choice: most of it."""
    connected: float = 0.5
    """Share of looks at idle workers that find them receiving from a socket: it is that; own choice: most."""
    worker_looks: int = 20
    """Looks at a rank's workers in a window, least for any share of them: a standard error of 11 points."""
    slow_worker_ratio: float = 4.0
    """Factor. Mean wait for one worker's batches over the median of the others; lab L3 showed 500."""
    slow_worker_steps: int = 4
    """Batches of each worker, at least, before one of them is called slow."""
    slow_worker_share: float = 0.6
    """Share of all waiting that the slow worker's batches must explain."""
    awaited_looks: int = 20
    """Looks that found the training thread waiting for a worker, least."""
    awaited_share: float = 0.6
    """Share of these that must find the same worker waited for, and all the others done; own choice: nearly
    all with one slow worker, none in a plain shortage."""
    cold_ratio: float = 2.5
    """Factor. Wait share of the first epoch over that of the later ones: a cold cache."""
    needless_item_ms: float = 3.0
    """Milliseconds of waiting a step under which idle workers cost more than they bring (Lightning#17410)."""
    many_workers: float = 2.0
    """Factor. Workers on a host over its usable cores (deit#81: 256 processes on 32 cores)."""
    inline_share: float = 0.25
    """Share. Time before the backward that is neither a DataLoader nor explained by a forward as long as the
    backward; own choice."""
    in_loop_python: float = 0.25
    """Share. Time that is neither loading nor the model, with looks that find the script's own lines in it;
    own choice: the lines of any loop take some (2-3 % of steps of 1.4 ms)."""
    in_loop_ms: float = 0.4
    """Milliseconds a step, under which that is the loop itself; own choice, ten times an empty loop's."""
    logging_ms: float = 0.1
    """Milliseconds a step, under which logging is not worth a word; own choice: no loop logs by itself."""
    own_looks: int = 5
    """Looks that found the thread in the script's own lines, least to say that these take measured time."""
    own_beside_model: float = 0.2
    """Share of the looks in such lines among those in them and in the model, from which a forward longer than
    its backward is taken to be preparation; own choice: looks find plain Python too seldom."""
    stack_looks: int = 40
    """Looks at the training thread's stack, least for any share of them: a standard error of 8 points."""
    traced_share: float = 0.5
    """Share of looks that found Python itself watched, from which it is left on."""
    place_share: float = 0.25
    """Share of an area's looks at one line, from which the line is named."""

    threads_over_cores: float = 1.5
    """Factor. Threads that compute at once over the usable cores: they take turns."""
    throttled: float = 0.10
    """Share of the quota's periods that ran out of quota; own choice: a period is 100 ms."""
    throttled_critical: float = 0.5
    """The same, from which it is the first thing to change."""
    throttled_explains: float = 0.5
    """Share of these periods over a wait's share of the step, from which the wait may follow; own choice."""
    affinity_own: float = 0.40
    """Share of the mask's cores that the run itself keeps busy, at least."""
    affinity_full: float = 0.85
    """Share of the affinity mask's cores that the run keeps busy, with others of the host out of reach."""

    launch_idle: float = 0.20
    """Share of the window in which the GPU idled for want of launches (profiling.md §2.5)."""
    launch_short: float = 0.5
    """Share of launches whose kernel took less time than the call (profiling.md §2.5)."""
    launch_delay_us: float = 10.0
    """Microseconds. Median from launch to start, below which the queue was empty (profiling.md §2.5)."""
    gpu_busy: float = 0.90
    """Share of time with an engine of the GPU busy from which the device is taken to set the pace."""
    gpu_computes: float = 0.80
    """Share of time in which the GPU computes from which a training without a loader is called fed and well;
    own choice, the counterpart of `launch_idle`."""
    gpu_idle: float = 0.70
    """The same, below which it does not."""
    sync_share: float = 0.05
    """Share of the window in which the GPU idled for a call that waits for it; as train-doctor's rule."""
    sync_critical: float = 0.20
    """The same, from which it is the first thing to change."""
    sync_looks: float = 0.10
    """The same by looks at the thread and the GPU's counters, which are less sure; own choice."""
    frees_a_step: float = 1.0
    """Blocks a step that the allocator gives back to the driver without having run out of memory: a warmed-up
    allocator gives none back (64 a step with `empty_cache()` after each batch, ResNet-50 on an H200)."""
    frees_steps: int = 200
    """Steps, least for that without having seen the call: trying convolutions (cudnn.benchmark) gives back as
    well, 160 blocks in the first steps of ResNet-50 on an H200."""
    copy_share: float = 0.05
    """Share of a step that copies to the device take and nothing hides; own choice, as for syncs."""
    copy_critical: float = 0.20
    """The same, from which it is the first thing to change."""
    pageable_mib: float = 1.0
    """MiB a step from pageable memory, from which pinning can matter (profiling.md §2.7)."""
    small_copies: float = 16.0
    """Copies a step to the device, each under `small_copy_mib`."""
    small_copy_mib: float = 0.25
    """MiB. A copy that costs its call rather than its bytes; own choice."""

    optimizer_info: float = 0.35
    """Share of the step in the optimizer, for a remark; own choice: small, sound models reach 30 %."""
    optimizer_warning: float = 0.50
    """The same, from which it leads."""
    operator_share: float = 0.30
    """Share of self time in a window of one operator that is no product, convolution, attention or norm; own
    choice: pooling, copies and losses of usual models stay below."""
    family_share: float = 0.40
    """The same of several of one purpose with their backward; own choice, above that of one alone, as models
    hold a little of many: log-determinants in a flow held 0.53 of a window, half of the step by the clock."""
    family_spread: float = 0.90
    """Share of a family in its largest operator, from which that one alone is named; own choice."""
    recompute_looks: int = 5
    """Looks that found a forward within the backward, least."""
    recompute_info: float = 0.10
    """Share of these looks: activation checkpointing usually costs a quarter to a third (a forward more)."""
    backward_high: float = 2.0
    """Factor. Forward over backward, above which much of it leaves no gradient."""
    small_batch_gpu: int = 16
    """Samples a rank. Below, kernels and communication get inefficient (method.md, trap 2)."""
    small_batch_cpu: int = 4
    """Samples a forward, up to which calls may cost more than arithmetic on a CPU; own choice."""
    small_batch_call_us: float = 150.0
    """Microseconds of forward and backward for each tensor of parameters, under which they are calls rather
    than arithmetic: 51 and 79 with one sample (a CNN and a transformer, one quiet core), where 64 at once
    took a fifth of the time a sample."""
    accumulated: float = 4.0
    """Backwards a step on a CPU, by a window, from which micro-batches are taken to be accumulated; own
    choice: networks that take turns (GANs) make two or three."""
    accumulated_call_us: float = 6.0
    """Microseconds of a step for each operator that it calls, under which these are calls rather than
    arithmetic: 2.7 and 3.4 with 64 and 40 micro-batches of one sample, 65 and 82 with four large ones (quiet
    cores)."""
    memory_free: float = 0.5
    """Share of the GPU's memory never used, with which a larger batch would fit; of a host's on a CPU, or
    activations need not be computed again."""
    subnormal: float = 0.01
    """Share of sampled weights so small that the CPU computes with them slowly; own choice."""
    tensor_idle: float = 0.02
    """Share of time with tensor cores busy below which they are not in use (GPM)."""
    exact_products: float = 0.20
    """Share of the GPU's time in matrix products without tensor cores, from which their precision matters;
    own choice: 0.8 with a float32 transformer on an H200, 0 with TF32."""
    memory_bound: float = 0.40
    """Share of time in which the GPU's memory is busy (GPM), from which memory may be the limit; own choice:
    float32 products on an H200 keep it busy 0.11, batches of 64 rows in bfloat16 above 0.5."""

    recompiles: int = 2
    """Recompilations within the last minute, past the warm-up: shapes or values go on changing."""
    recompile_share: float = 0.10
    """Share of time in compilations past the warm-up, from which it is a warning; twice: critical."""
    breaks_warning: int = 4
    """Graph breaks, from which a compiled model runs in pieces; own choice."""
    compile_around: float = 0.30
    """Share of a window in guards and wrappers of compiled functions, from which they are too small; own
    choice. 0.9 where each of 40 functions adds two numbers, under 0.1 for a compiled transformer layer."""
    compile_tiny_ms: float = 5.0
    """Milliseconds a step, under which compiling is not worth it (method.md; KernelBench#68)."""
    compiling_lately: float = 0.05
    """Share of the newest steps during which something was compiled: the run is still warming up."""

    comm_info: float = 0.10
    """Share. Exposed communication; as the TensorBoard plugin's rule."""
    comm_info_cpu: float = 0.25
    """The same on CPUs; own choice: two equal gloo ranks of a small model on two cores showed up to 16 %."""
    comm_warning: float = 0.20
    """The same, from which it is worth a change on GPUs."""
    comm_warning_cpu: float = 0.40
    """The same on CPUs: gloo on one host computes on the cores the model needs; own choice. Of the exchange
    alone, which took two equal ranks of a small CNN 2 % of a step."""
    comm_steps: int = 3
    """Steps whose communication was looked at, least."""
    tiny_bucket_mib: float = 1.0
    """MiB. Mean bucket below which each all-reduce costs its call rather than its bytes."""
    many_buckets: int = 8
    """Buckets, from which tiny ones add up."""
    reduced_singly: float = 0.5
    """All-reduces a step for each tensor of parameters, from which a script is taken to send its gradients
    one by one; own choice: tensor parallelism makes four for a layer of a dozen."""
    one_bucket_mib: float = 32.0
    """MiB. One bucket of this size holds all gradients back until the backward is over."""
    sync_backwards: float = 1.5
    """Synchronising backwards a step, from which gradients are exchanged more often than needed."""
    sync_backwards_unseen: float = 2.5
    """The same where no batches of a step are told; own choice: a gradient penalty takes two."""

    arrival_steps: int = 20
    """Steps of all ranks, matched, least for a judgement on who comes last."""
    straggler_sure: float = 0.40
    """Share. From here on other work on a busy host does not explain that the same rank comes last."""
    straggler_gap_cpu: float = 0.25
    """Share. Least gap on CPUs, unless batches differ: cores that share a cache or a core's two halves made
    two equal gloo ranks differ by up to 19 % for half a minute."""
    straggler_errors: float = 4.0
    """Standard errors of the gap between ranks' waits: less is scatter. More than the usual two or three, as
    successive waits are alike."""
    uneven_batches: float = 0.05
    """Share by which the largest of the ranks' batches exceeds their mean (tokens or samples), mean over the
    steps; own choice: dealt alike they differ at the end of an epoch alone."""
    straggler_looks: int = 8
    """Steps whose communication was looked at on each rank, least for a straggler by a smaller gap than
    `straggler_sure`: so few lengths scatter."""
    last_fixed: float = 0.70
    """Share of steps at which the same rank is last: it is the cause, not chance."""
    last_rotating: float = 0.60
    """The same for the most frequent one, below which the culprit changes from step to step."""

    imbalance_cpu: float = 0.3
    """Share of the time lost to uneven ranks that uneven CPU times must explain to prove uneven work."""
    imbalance_memory: float = 0.3
    """Correlation of a rank's lead in CPU time from step to step, below which batches rather than cores make
    it: 0.06 with texts of two lengths, 0.62 and 0.66 with equal batches (two ranks on two quiet cores)."""
    imbalance_unsure: float = 0.20
    """Share of the step lost, from which uneven ranks are a finding without that proof."""

    gpu_throttled: float = 0.05
    """Share of time with clocks held down by heat or a power brake."""
    gpu_throttled_critical: float = 0.25
    """The same, from which it leads."""
    power_capped: float = 0.50
    """Share of time at the power limit; usual for a large GPU at full load."""
    clock_lost: float = 0.10
    """Share of the highest clock that the power limit takes, from which it is worth a remark; own choice: an
    H200 at full load lost 0.08 with a transformer and 0.19 with nothing but products in bfloat16."""
    foreign_mib: float = 512.0
    """MiB on the GPU held by processes that are not the run's: a desktop holds less."""

    near_limit: float = 0.92
    """Share of memory in use; as TraceML 0.5.0 (92 / 97 %)."""
    near_limit_critical: float = 0.97
    """The same, from which it is a warning without swapping, too."""
    fragmented: float = 0.25
    """Share of reserved GPU memory in parts of blocks that cannot be given back."""
    growth_mib: float = 128.0
    """MiB within the change's time, from which steady growth is worth a word."""
    growth_per_min_mib: float = 48.0
    """MiB a minute, least rate."""
    growth_steady: float = 0.6
    """Share of looks at which memory was higher than ever before: a leak rises all the time."""
    growth_s: float = 12.0
    """Seconds of steps, least, before growth is judged."""
    full_in_s: float = 600.0
    """Seconds until the GPU's memory is full, at the rate at which tensors take it, under which that comes
    first of all; own choice: later there is time to deal with what slows the training."""
    swapping_mib_s: float = 1.0
    """MiB a second read back from swap."""
    shm_full: float = 0.10
    """Share of /dev/shm still free, below which workers may die by a bus error."""

    gc_share: float = 0.05
    """Share of time in garbage collections; torchtitan#148 gained 1.5 % from less."""
    gc_critical: float = 0.20
    """The same, from which it is the first thing to change."""
    pause_info: float = 0.05
    """Share of time in checkpoints."""
    pause_warning: float = 0.15
    """The same, from which it leads."""
    saving_explains: float = 0.5
    """Share of looks in own lines that found them waiting for a save, from which they follow from it."""
    validation_info: float = 0.20
    """Share of time in validations: many a run wants that."""
    validation_warning: float = 0.50
    """The same, from which training itself is the smaller part."""

    drift_ratio: float = 1.20
    """Factor. Median step of the run's last fifth over its first, where a GPU sets the pace; own choice: on
    one that works evenly they stay within 1 % of each other."""
    drift_ratio_host: float = 1.60
    """The same where the host sets the pace: with other runs on the same chip, though on cores of their own,
    medians of fifths of runs of 20 s in which nothing grew were up to 1.5 apart, by caches and clocks that
    they share."""
    drift_late: float = 0.25
    """Share of the rise after the middle of the run, at least: what grows with the steps goes on."""
    drift_cpu_ratio: float = 1.10
    """Factor. The same of the training thread's CPU time: with less, others on the host may be the cause."""
    drift_steps: int = 100
    """Steps past the warm-up, least, before a trend is judged."""
    drift_rises: int = 3
    """Of the four rises from one fifth of the run to the next, at least; all where the host sets the pace."""

    loss_jumps: float = 1e-3
    """Relative. Median distance of a loss from the middle of its neighbours, from which it depends on its
    batch: 2e-5 behind a layer norm that hides it, 1e-2 and more with batches drawn anew."""
    same_losses: int = 5
    """Steps at which all ranks' losses agree but for noise, before they are taken to see the same data."""
    same_loss_tolerance: float = 1e-6
    """Relative. DDP keeps parameters equal, so equal losses mean equal batches."""

    overhead_info: float = 0.01
    """Share of the step in perftui's own hooks."""
    overhead_warning: float = 0.10
    """The same, from which it may lead: below, all else weighs as much without it; as `wait_warning`."""
    dropped_share: float = 0.01
    """Share of steps that were dropped before the hub saw them."""

    appear_judgements: int = 2
    """Judgements in a row before a finding is shown; own choice: two seconds at one a second."""
    vanish_judgements: int = 4
    """Judgements in a row without it before it goes."""
    forget_after_s: float = 120.0
    """Seconds without any judgement after which what was shown is no longer true."""


POLICY = Policy()
