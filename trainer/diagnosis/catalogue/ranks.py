"""Entries of the families `comm`, `rank`, `data` and `scaling`."""

from perftui.trainer.diagnosis.catalogue.entry import Entry, report

ENTRIES = (
    Entry(
        code="comm.exposed",
        title="Every rank waits for the exchange of gradients with nothing to compute.",
        seen="Two GPUs that are not twice as fast.",
        signals=(
            "time from the end of the backward's own work to the end of its communication: the shortest of "
            "all ranks, step by step where the same steps were looked at",
            "without DDP, the script's own collectives: on CPUs looks that find the training thread in them, "
            "on GPUs a window of all ranks; the least of all ranks",
            "on CPUs 25 % are worth a word, on GPUs 10 %",
        ),
        why="Too many bytes, too little to compute, a slow way between ranks.",
        do="Larger batches a rank, no_sync with accumulation, a bfloat16 hook, fewer ranks.",
        semantics="changes-training",
        against="The others' longer waits are for the last rank, not for the exchange.",
        reports=(
            report("1.23 times instead of 2", "kohya-ss/sd-scripts/issues/1434"),
            report("75 % of GPU time in NCCL", "NVIDIA/nccl/issues/491"),
        ),
    ),
    Entry(
        code="comm.no_sync",
        title="Gradients are exchanged after every micro-batch, where the last exchange is enough.",
        seen="Accumulation that brings no speed.",
        signals=("micro-batches a step", "DDP's switch for synchronising, looked at ten times a second"),
        why="no_sync was not used.",
        do="with model.no_sync(): for all micro-batches but the last.",
        semantics="numeric",
        against="Off by one, ranks drift apart. Under find_unused_parameters every micro-batch must "
        "exchange.",
        reports=(
            report("the cost of all exchanges but one", "pytorch/pytorch/issues/43201"),
            report("off by one: ranks diverge", "modelscope/FunASR/pull/3472"),
        ),
    ),
    Entry(
        code="comm.find_unused",
        title="DDP searches for unused parameters in every step.",
        seen="A warning of DDP that nothing was unused.",
        signals=(
            "the flag of the live DDP module",
            "one exchange more in each step: where buckets are small, exposed communication over their "
            "number and one",
        ),
        why="Left on from a time when it was needed.",
        do="find_unused_parameters=False.",
        semantics="neutral",
        against="Training stops or hangs if something is unused after all. Often negligible.",
        reports=(
            report("the flag on, nothing unused", "m2lines/Samudra/issues/630"),
            report("negligible", "935963004/LaBraM/issues/40"),
        ),
    ),
    Entry(
        code="comm.buckets",
        title="Gradients travel in pieces of a bad size.",
        seen="Many small all-reduces, or one at the end.",
        signals=(
            "sizes of DDP's buckets in force, and the limit that made them",
            "without DDP, by a window: an all-reduce for every second tensor of parameters or more, and "
            "their mean size",
            "exposed communication",
        ),
        why="Each bucket costs a call; one bucket hides under nothing. A script averages gradients tensor by "
        "tensor.",
        do="An experiment with bucket_cap_mb; DDP, or one flattened tensor, instead of a loop of "
        "all-reduces.",
        semantics="numeric",
        against="No difference in some reports. A parameter larger than the limit travels alone whatever the "
        "limit is: then it is `comm.exposed`.",
        reports=(
            report("huge buckets: 2.6 to 1.4 s", "deepspeedai/DeepSpeed/issues/3338"),
            report("no difference up to 150 MB", "facebookresearch/fairseq/issues/789"),
        ),
    ),
    Entry(
        code="comm.backend",
        title="GPUs exchange gradients in a slow way: gloo, or DataParallel.",
        seen="Several GPUs hardly faster than one.",
        signals=("backend of the process group", "a living DataParallel"),
        why="gloo goes through the host; DataParallel drives all GPUs from one process.",
        do="nccl; DistributedDataParallel under torchrun.",
        semantics="numeric",
        against="Without direct access between GPUs DataParallel was faster in one report.",
        reports=(
            report("gloo 5 min, nccl 3 min an epoch", "ultralytics/yolov5/pull/3705"),
            report("DataParallel to DDP: a large gain", "dbolya/yolact/issues/438"),
        ),
    ),
    Entry(
        code="comm.fabric",
        title="A switch takes the fast way between GPUs away.",
        seen="Several machines as fast as one; 100 % use at low power.",
        signals=(
            "NCCL_P2P_DISABLE, NCCL_IB_DISABLE, NCCL_SHM_DISABLE in the environment",
            "exposed communication",
        ),
        why="Set once against a hang.",
        do="An experiment without it; NCCL_DEBUG=INFO names the way in use.",
        semantics="neutral",
        against="On some boards the direct way hangs or is slower.",
        reports=(
            report(
                "NCCL_IB_DISABLE=1: 5.72 s instead of 2.51",
                "scottclowe/pytorch-experiment-template/issues/11",
            ),
            report("direct access slower on 8 A40", "NVIDIA/nccl-tests/issues/74"),
        ),
    ),
    Entry(
        code="rank.straggler_input",
        title="One rank waits for its loader, and the others wait for that rank.",
        seen="All ranks equally slow.",
        signals=(
            "steps of equal length",
            "one rank's wait beyond the others'",
            "the others' longer backward",
        ),
        why="Ranks that exchange gradients keep step: the starved one waits for data, the others in the "
        "all-reduce. The longest backward is a victim's.",
        do="As for `input.workers`, for all ranks at once.",
        semantics="neutral",
        against="When all ranks starve, it is `input.workers`.",
        reports=(report("waits that grow with the ranks", "facebookresearch/detr/issues/257"),),
        demo="starved_ddp",
    ),
    Entry(
        code="rank.straggler_compute",
        title="One rank computes longer, and the others wait for it.",
        seen="All ranks equally slow; one GPU hot or shared.",
        signals=(
            "the rank that waits least for the exchange has come last",
            "its forward and backward longer, without the exchange",
            "on CPUs: last in 70 % of the steps, by four standard errors of the waits, and by 25 % of the "
            "step unless its batches are larger",
            "else: more work before its backward, and a longer backward on the others",
        ),
        why="A slow GPU, other work beside it, more data.",
        do="Compare clocks, temperature, processes and data with the others'.",
        semantics="neutral",
        against="By lengths it cannot be seen: all ranks' backwards are equal.",
        reports=(
            report("200 ms in one rank, backward equal on all", "traceopt-ai/traceml/issues/252"),
            report("one of 8 processes at fault", "NVlabs/GCVit/issues/14"),
        ),
    ),
    Entry(
        code="rank.straggler_host",
        title="One rank does something besides, and the others wait for it.",
        seen="All ranks slow while rank 0 logs or saves.",
        signals=(
            "as for straggler_compute, with the difference in time that is neither loading nor the model",
        ),
        why="Logging, evaluation, saving on one rank.",
        do="Less often, in the background.",
        semantics="neutral",
        reports=(report("gradient watching on rank 0", "wandb/wandb/issues/7423"),),
    ),
    Entry(
        code="rank.imbalance",
        title="Ranks take turns in coming last.",
        seen="A step as long as the longest batch anywhere.",
        signals=(
            "work before the exchange, step by step and rank by rank",
            "no rank is last most of the time",
            "on CPUs also the CPU time of the steps; tokens or samples of the ranks' batches, or leads in "
            "CPU time that do not last from step to step, tell batches from cores",
        ),
        why="Batches of unequal cost, mostly lengths.",
        do="Group by length, count tokens.",
        semantics="changes-training",
        reports=(report("variable lengths dealt in turn", "lightseekorg/TorchSpec/issues/13"),),
    ),
    Entry(
        code="data.same_on_ranks",
        title="All ranks see the same batches.",
        seen="A loss that falls as on one GPU.",
        signals=(
            "losses of all ranks at the same steps, equal to the last bit but noise, and jumping from step "
            "to step as losses of changing batches do",
            "seeds of samplers",
        ),
        why="No DistributedSampler, and the same seed everywhere.",
        do="DistributedSampler with set_epoch.",
        semantics="changes-training",
        against="Parts of a model on several ranks see the same data on purpose: only DDP over all ranks is "
        "judged. A loss that hardly depends on the batch is equal everywhere and proves nothing.",
        reports=(report("every rank reads everything", "huggingface/finetrainers/issues/174"),),
    ),
    Entry(
        code="data.same_order",
        title="Every epoch comes in the same order.",
        seen="Nothing.",
        signals=(
            "the distributed sampler's epoch does not change over iterations",
            "or: iterators of a shuffled loader draw the same number, right before the order is drawn",
            "or: the indices of the first batches, the same in three epochs in a row, where they neither "
            "rise nor fall throughout and the sampler is to shuffle, or its code draws by chance and sorts "
            "nothing",
        ),
        why="set_epoch is not called; or the seed is set anew at the head of each epoch; or the sampler "
        "draws its order in its constructor.",
        do="sampler.set_epoch(epoch); the seed once, or seed + epoch; the order drawn in `__iter__`.",
        semantics="changes-training",
        reports=(report("the same order each epoch", "pytorch/pytorch/issues/31771"),),
    ),
    Entry(
        code="data.worker_seed",
        title="Workers may draw the same random numbers.",
        seen="Nothing.",
        signals=(
            "the states of Python's, NumPy's and torch's generators in each worker, after worker_init_fn",
            "or: a generator (NumPy's Generator and RandomState, random.Random, torch.Generator) that exists "
            "before two workers or more start, kept by the dataset, its transforms or the collate function, "
            "or a global, and named by the code by which they fetch; and its states in the workers: alike in "
            "two or more as they begin to fetch, after worker_init_fn, and moved by a fetch",
        ),
        why="worker_init_fn seeds all workers with one number: without it torch seeds each otherwise. Or the "
        "dataset makes a generator of its own in its constructor: each worker has a copy in the same state.",
        do="Seed by torch.initial_seed() % 2**32 in worker_init_fn; a generator of one's own likewise, by "
        "the way to it that the advice writes out, or make it in the worker when it is first used.",
        semantics="changes-training",
        against="A generator is not judged where the code that uses it seeds, stores or copies it or asks "
        "which worker it is in. One that no worker has drawn from in its first 16 fetches is not told. "
        "States that differ after the first batches leave a doubt: it may be seeded for each sample in a way "
        "that the code does not show, or be drawn from more often in one worker. Where workers do not tell "
        "(loaders that are not torch's, generators of a GPU) the code alone is judged, and nothing is said "
        "of what a worker_init_fn may touch.",
        reports=(report("the same draws in every worker", "pytorch/pytorch/issues/5059"),),
    ),
    Entry(
        code="data.iterable_duplicates",
        title="Each worker goes through all of an IterableDataset.",
        seen="Epochs as many times too long as there are workers.",
        signals=(
            "workers",
            "nothing that the dataset's iteration reaches, its base classes and what it holds among it, asks "
            "which worker it is in",
        ),
        why="An IterableDataset is copied into every worker.",
        do="Divide in __iter__ by get_worker_info(), and by rank.",
        semantics="changes-training",
        against="Not judged where installed classes may divide by themselves, or where the iteration draws "
        "random numbers: each worker's are others.",
        reports=(report("streams and workers", "webdataset/webdataset/issues/365"),),
    ),
    Entry(
        code="scaling.small_per_rank_batch",
        title="Each rank has too little to compute for each exchange.",
        seen="Four GPUs slower than one.",
        signals=(
            "samples a rank under 16",
            "exposed communication of 20 % or more, on CPUs 40 %, without the waiting for uneven ranks",
        ),
        why="Kernels and collectives both get inefficient.",
        do="Larger batches a rank, accumulation under no_sync, fewer ranks.",
        semantics="changes-training",
        against="The learning rate follows the global batch.",
        reports=(report("102 s on one GPU, 101–131 on two", "huggingface/transformers/issues/9371"),),
    ),
    Entry(
        code="scaling.learning_rate",
        title="Whether the learning rate fits the global batch is not to be seen from one run.",
        seen="A worse result on more GPUs.",
        signals=("not measured: said as such on several ranks",),
        why="The batch size in a script is for each rank.",
        do="Linear rule for SGD, with a longer warm-up; not for Adam.",
        semantics="changes-training",
        against="Tripled for 24 GPUs: nothing learned.",
        reports=(
            report("learning rate follows GPUs times batch", "open-mmlab/mmdetection/issues/815"),
            report("scaled with Adam: no result", "facebookresearch/detr/issues/48"),
        ),
    ),
    Entry(
        code="scaling.efficiency",
        title="How well several ranks scale takes a run on one of them to tell.",
        seen="",
        signals=("not measured: said as such on several ranks",),
        why="",
        do="A run on one rank, and `perftui compare`.",
        semantics="neutral",
    ),
)
