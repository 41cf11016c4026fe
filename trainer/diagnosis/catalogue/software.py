"""Entries of the families `compile`, `debug` and `self`."""

from perftui.trainer.diagnosis.catalogue.entry import Entry, report

ENTRIES = (
    Entry(
        code="compile.recompiles",
        title="torch.compile goes on compiling.",
        seen="Steps that take seconds now and then; or full speed of an uncompiled model.",
        signals=(
            "recompilations within the last minute",
            "times the limit was reached",
            "the guard that failed",
        ),
        why="A shape or a Python number changes; at the limit of 8 torch runs the function uncompiled, "
        "silently.",
        do="dynamic=True, padding to a few lengths, drop_last, numbers as tensors.",
        semantics="numeric",
        reports=(
            report("limit of 8 hit, eager afterwards", "NVIDIA/TensorRT-LLM/issues/6142"),
            report("Python integers in guards", "pytorch/pytorch/issues/114293"),
        ),
    ),
    Entry(
        code="compile.graph_breaks",
        title="The compiled model runs in pieces, with Python between them.",
        seen="Less gain from compile than expected.",
        signals=(
            "graph breaks with reason, file and line",
            "functions that torch gave up",
            "in a window: compiled functions called a step, and what guards and wrappers around them take",
        ),
        why="print, .item() or other libraries cannot be captured.",
        do="Move them out; fullgraph=True to find them.",
        semantics="numeric",
        against="One cut may cost nothing that is felt.",
        reports=(report("one cut removed: 30 %", "nomic-ai/contrastors/pull/83"),),
    ),
    Entry(
        code="compile.cudagraph_skips",
        title="CUDA graphs were asked for and not used.",
        seen="reduce-overhead without its effect.",
        signals=("count of skips with their reason", "host sets the pace"),
        why="Inputs are changed in place, shapes vary, or something runs on the CPU.",
        do='Remove the cause, or mode="default".',
        semantics="numeric",
        reports=(
            report("skipped without a word", "pytorch/pytorch/issues/103985"),
            report("a graph for each shape: 22 to 25 s", "pytorch/pytorch/issues/188150"),
        ),
    ),
    Entry(
        code="compile.not_worth",
        title="What was compiled is too small to be worth it.",
        seen="Steps no shorter than without compile, after a long start.",
        signals=(
            "in a window, on a CPU: guards and wrappers take 30 % or more, and longer than what they call",
            "without one: steps under 5 ms for which compiling took longer than all steps so far would at "
            "half their length",
        ),
        why="Each call of a compiled function costs some hundred microseconds, however little it computes.",
        do="An experiment without compile, or with one larger function compiled.",
        semantics="numeric",
        against="A longer run may pay back. What a step takes uncompiled only a run without it tells.",
        reports=(
            report("72.4 to 102.7 ms", "pytorch/pytorch/issues/98441"),
            report("first call 129 s", "pytorch/pytorch/issues/111182"),
        ),
    ),
    Entry(
        code="compile.warming_up",
        title="torch.compile is still at work: these steps are not judged.",
        seen="Slow first steps.",
        signals=(
            "steps during which something was compiled",
            "time in compilations",
            "before the first step: that a compilation goes on",
        ),
        why="Each graph is compiled when it is first needed.",
        do="Wait.",
        semantics="neutral",
    ),
    Entry(
        code="debug.anomaly",
        title="Autograd's anomaly detection is on.",
        seen="Everything two to five times slower.",
        signals=("the switch, read from the live process",),
        why="Each operator keeps its stack, gradients are searched for NaN.",
        do="Switch it off.",
        semantics="neutral",
        reports=(
            report("three times slower", "Lightning-AI/pytorch-lightning/issues/12344"),
            report("2.5 times", "Lightning-AI/pytorch-lightning/issues/17359"),
        ),
    ),
    Entry(
        code="debug.launch_blocking",
        title="The host waits for every kernel, or every collective.",
        seen="A GPU with gaps between all kernels.",
        signals=("CUDA_LAUNCH_BLOCKING, TORCH_NCCL_BLOCKING_WAIT in the live process's environment",),
        why="Left in a profile, a job script, or the training script itself.",
        do="Unset it.",
        semantics="neutral",
        reports=(
            report("set in the training script", "jishengpeng/WavTokenizer/issues/17"),
            report("8 GPUs no faster than one", "pytorch/pytorch/issues/50820"),
        ),
    ),
    Entry(
        code="debug.detail",
        title="Every collective is first compared over all ranks.",
        seen="Slow steps on several ranks only.",
        signals=("TORCH_DISTRIBUTED_DEBUG=DETAIL in the live process's environment",),
        why="A check for mismatched collectives.",
        do="Unset it.",
        semantics="neutral",
        reports=(report("hangs at the start", "pytorch/pytorch/issues/129672"),),
    ),
    Entry(
        code="debug.profiler_left_on",
        title="A profiler, debugger or coverage tool runs along.",
        seen="Everything slower, memory grows.",
        signals=("torch's own profiler is on", "a tool that traces Python code"),
        why="It costs with every operator or line, and keeps what it records.",
        do="Stop it; profile a few steps only.",
        semantics="neutral",
        reports=(
            report("a debugger: optimizer 2.5 to 33 % of the step", "pytorch/pytorch/issues/134191"),
            report("out of memory while profiling", "Lightning-AI/pytorch-lightning/issues/10717"),
        ),
    ),
    Entry(
        code="self.contended",
        title="The host is busy with other work, so times on it say little about the run.",
        seen="Speed that changes with the hour.",
        signals=(
            "cores busy with processes that are not the run's, over the cores it may use",
            "tasks that waited for a CPU (pressure stall information)",
        ),
        why="Other jobs, other containers, the system.",
        do="Stop the other work, or measure when the host is quiet. Findings that the other work may "
        "explain come "
        "after this one.",
        semantics="neutral",
    ),
    Entry(
        code="self.overhead",
        title="perftui's own hooks take a part of the step that is felt.",
        seen="A faster run without perftui.",
        signals=("time in our hooks, measured on one stamp of 61",),
        why="Very short steps.",
        do="Compare with a run without it. Below a tenth of the step it is a remark, after all others.",
        semantics="neutral",
        reports=(report("+0.9 % wall time of a monitor", "traceopt-ai/traceml/pull/153"),),
    ),
    Entry(
        code="self.dropped",
        title="Steps were dropped before they could be counted.",
        seen="Nothing.",
        signals=("steps lost in full queues",),
        why="The hub or the probe's thread got no time.",
        do="Nothing for the training; figures rest on the other steps.",
        semantics="neutral",
    ),
)
