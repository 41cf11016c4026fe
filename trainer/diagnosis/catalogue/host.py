"""Entries of the families `cpu`, `pause`, `memory` and `drift`."""

from perftui.trainer.diagnosis.catalogue.entry import Entry, report

ENTRIES = (
    Entry(
        code="cpu.oversubscribed",
        title="More threads compute than there are cores.",
        seen="All cores busy, much of it in the kernel, and little done.",
        signals=(
            "threads within an operator, over all ranks of a host, against usable cores",
            "workers that want more than one core (time on cores and waiting for one), or have many threads",
            "and are ready without a core",
        ),
        why="Pools of BLAS, OpenMP or OpenCV in every process fight for the cores; each operator waits "
        "for the "
        "last of its threads.",
        do="`env.OMP_NUM_THREADS` = cores over ranks; one thread in workers (`env.OPENBLAS_NUM_THREADS`, "
        "`env.OPENCV_FOR_THREADS_NUM`, cv2.setNumThreads(0)).",
        semantics="numeric",
        against="Where the loader is not what paces, fewer threads save CPU and no time.",
        reports=(
            report("2048 OpenCV threads: 8 % of the step", "open-mmlab/mmdetection/pull/6867"),
            report("preprocessing 1 h to 5 min with one thread", "mir-group/nequip/issues/495"),
            report("CPU use much lower, speed the same", "liebharc/homr/pull/128"),
        ),
    ),
    Entry(
        code="cpu.quota",
        title="The container's CPU quota runs out, and everything stands still until the next period.",
        seen="Stalls of up to 100 ms at random; cores look idle from outside.",
        signals=("share of the quota's periods in which it ran out", "CPUs held back", "quota against cores"),
        why="os.cpu_count() and the affinity mask show all cores; only the cgroup knows the quota.",
        do="More CPU for the container; no more busy threads and workers than the quota.",
        semantics="neutral",
        reports=(
            report("12 cores visible, a limit of 4", "springfall2008/batpred/pull/4771"),
            report(
                "bursts, then frozen for the rest of 100 ms", "thijsvanloef/palworld-server-docker/pull/884"
            ),
        ),
    ),
    Entry(
        code="cpu.affinity",
        title="The run is bound to a few CPUs of many.",
        seen="One or two cores at 100 %, the others idle, whatever the number of workers.",
        signals=(
            "CPUs of the affinity mask against those of the host, and those that the run was started with",
            "how full they are",
            "masks of workers",
        ),
        why="The script or an imported library has narrowed the mask; workers inherit it. A mask that the "
        "run was started with is an allocation: that is a remark, after what fills it.",
        do="A wider mask: os.sched_setaffinity after the import that set it; or a larger allocation.",
        semantics="neutral",
        against="A batch system binds jobs on purpose.",
        reports=(
            report("import torch binds every child to one core", "pytorch/pytorch/issues/8126"),
            report("only two cores busy, workers without effect", "ultralytics/ultralytics/issues/9843"),
        ),
    ),
    Entry(
        code="cpu.python",
        title="The training thread is busy with the script's own Python.",
        seen="One core at 100 %, the rest of the machine waiting.",
        signals=(
            "time that is neither loading nor the model, collections and checkpoints left out",
            "looks at the stack: lines of the script's own, five at least; output among them where only both "
            "together are worth a word",
            "of the time before the backward: what such lines past the model's call take",
            "or, in a profile window of one rank on a CPU: what operators of torch leave of that time",
            "beside a GPU, in a window: its idle time while the host computes on the CPU or is outside of "
            "all operators, as far as nothing else names it",
        ),
        why="Metrics, bookkeeping or preparation in Python run between the steps, or what the loss needs "
        "between the model's call and the backward.",
        do="Every n-th step, in tensor operations, or in the dataset, where workers run it. Past the model's "
        "call no worker can: tensor operations for the whole batch, the GPU, a library in C. The finding "
        "names the line.",
        semantics="neutral",
        reports=(
            report("framework hooks on toy models", "Lightning-AI/pytorch-lightning/issues/6196"),
            report("a GPU at 20 % with one busy core", "lukas-blecher/LaTeX-OCR/discussions/153"),
        ),
    ),
    Entry(
        code="pause.gc",
        title="Python's garbage collector stops the training.",
        seen="Steps that are long at random, on another rank each time.",
        signals=("time in collections, from the interpreter's own callbacks", "the longest collection"),
        why="A full collection walks over every living container, and large datasets in Python objects "
        "have many.",
        do="gc.freeze() after building data and model; or gc.disable() and one gc.collect() at a moment "
        "all ranks "
        "share; arrays instead of lists.",
        semantics="neutral",
        against="With collections off, cycles keep memory.",
        reports=(
            report("ranks that collect at different times: 1.5 %", "pytorch/torchtitan/pull/148"),
            report("1.25–1.46 s a collection", "marin-community/marin/pull/9224"),
            report("collections off: memory creeps up", "facebookresearch/dinov3/issues/150"),
        ),
    ),
    Entry(
        code="pause.checkpoint",
        title="Saving checkpoints takes a large part of the time.",
        seen="Long steps at a fixed interval.",
        signals=(
            "time in torch.save, safetensors and distributed checkpoints, over the time of the run",
            "of those that another thread writes, instead: looks that found the training thread waiting in "
            "lines of the script's own meanwhile",
        ),
        why="A save is written by the training thread while nothing trains; or by another one, for which the "
        "training thread waits before it begins the next.",
        do="More rarely, to a faster disk, or in the background.",
        semantics="neutral",
        against="A save in the background that nobody waits for costs nothing that was seen. What was "
        "done since the last checkpoint is lost when the run dies.",
        reports=(
            report("minutes for each save", "NVIDIA/Megatron-LM/issues/651"),
            report("saves that queue up", "apax-hub/apax/issues/22"),
        ),
    ),
    Entry(
        code="pause.validation",
        title="Validation takes a large part of the time.",
        seen="Epochs much longer than their steps.",
        signals=(
            "time between training fetches in which another loader was read, without a backward",
            "without a loader: what lies between two events of the training and is three times as long as "
            "usual there, after the `eval()` of the model that is trained",
            "or five times as long, with looks that found that model evaluated: in evaluation mode, or by "
            "the source without gradients and by the functions' names no gathering of data",
        ),
        why="Validation is as dear as the data it goes over, and often runs with fewer workers.",
        do="More rarely, on a part of the data, with workers and a larger batch.",
        semantics="neutral",
        against="A run may want it so: it is information until it outweighs the training. What is evaluated "
        "in each step, and the first few times, counts to the steps.",
        reports=(report("validation on one core", "XuJiacong/PIDNet/issues/57"),),
    ),
    Entry(
        code="pause.logging",
        title="Logging, printing or writing in each step takes its time.",
        seen="Steps get shorter when output is switched off.",
        signals=(
            "time that is neither loading nor the model, and what of the forward is no model",
            "looks at the stack: logging, progress bars, writers, print, flush, what is made to be written, "
            "pictures and tables that are saved",
            "waits for the GPU in such a line, as for loss.item(), left out",
        ),
        why="Every line is written, and perhaps flushed to disk, before the next step begins.",
        do="Log every n-th step, buffer, no flush or fsync in the loop.",
        semantics="neutral",
        reports=(
            report("TensorBoard patch: logging 3–4 times longer", "wandb/wandb/issues/950"),
            report("a progress bar a batch", "ourownstory/neural_prophet/issues/1054"),
        ),
    ),
    Entry(
        code="memory.oom",
        title="Memory ran out.",
        seen="An error, or a worker that disappears.",
        signals=(
            "the allocator's count of failures",
            "processes ended by the kernel",
            "how the training ended",
        ),
        why="Batch, activations or optimizer state are too large; on the host, workers and what they "
        "prefetch.",
        do="A smaller batch with accumulation, bfloat16, activation checkpointing, FSDP; on the host "
        "fewer workers.",
        semantics="changes-training",
        reports=(report("a bus error in workers", "pytorch/pytorch/issues/50835"),),
    ),
    Entry(
        code="memory.near_limit",
        title="Memory is nearly gone, and may slow the training already.",
        seen="Speed that falls when the batch is made larger.",
        signals=(
            "times the allocator emptied its cache of late",
            "most memory that tensors took, of the GPU's; what is merely cached does not count",
            "memory of the host in use, swapping",
        ),
        why="Each time no memory is free, the cache goes back to the driver, which stops the GPU.",
        do="A smaller batch or less memory; `env.PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`.",
        semantics="changes-training",
        reports=(
            report("two flushes of the cache a step", "deepspeedai/DeepSpeedExamples/issues/172"),
            report("no retries with limit_all_gathers: 5.0 s", "pytorch/pytorch/issues/104509"),
            report("a larger batch, half the speed", "huggingface/transformers/issues/14615"),
        ),
    ),
    Entry(
        code="memory.fragmentation",
        title="GPU memory is reserved, and of no use.",
        seen="Out of memory with gigabytes free.",
        signals=(
            "parts of blocks that cannot be given back, over reserved memory",
            "where memory ran out: what tensors took at most, against what was reserved",
        ),
        why="Shapes that vary leave gaps between blocks.",
        do="`env.PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`; shapes that vary less.",
        semantics="neutral",
        reports=(report("half of the memory unusable", "pytorch/pytorch/issues/35901"),),
    ),
    Entry(
        code="memory.growth",
        title="GPU memory in use grows with the steps.",
        seen="Out of memory after hours.",
        signals=(
            "memory in tensors, minute by minute, higher than ever before at most looks",
            "what is free on the GPU: full within ten minutes at this rate, it stands before all else",
        ),
        why="Something of every step is kept: a loss with its graph, a cache.",
        do=".item() or .detach() on what is kept.",
        semantics="neutral",
        reports=(report("kept graphs, ever slower", "Lightning-AI/pytorch-lightning/discussions/8659"),),
    ),
    Entry(
        code="memory.host_growth",
        title="The training process, or its loader workers, grow with the steps.",
        seen="A job killed at night.",
        signals=(
            "resident memory of the rank without mapped files, higher than ever before at most looks",
            "what one loader worker shares with nobody, the same; what it sees tells copies of shared memory "
            "from what is kept",
        ),
        why="Losses with their graphs, lists of results, Python objects copied as they are counted.",
        do=".item() or .detach() on what is kept; arrays instead of objects.",
        semantics="neutral",
        reports=(
            report("workers that copy what they count: 5 to 17 GB", "pytorch/pytorch/issues/5902"),
            report("collections off", "facebookresearch/dinov3/issues/150"),
        ),
    ),
    Entry(
        code="memory.shm",
        title="/dev/shm is nearly full: workers may die by a bus error.",
        seen="“Bus error”, or a loader that hangs.",
        signals=("free space of /dev/shm, with workers in use",),
        why="Batches go from workers to the training through it; a container's default is 64 MiB.",
        do="docker run --shm-size, fewer workers, a lower prefetch_factor.",
        semantics="neutral",
        reports=(report("/dev/shm full after two minutes", "pytorch/pytorch/issues/5040"),),
    ),
    Entry(
        code="drift.slower",
        title="Steps get slower as the run goes on.",
        seen="An ETA that moves away.",
        signals=(
            "medians of five equal parts of the run: 1.2 times as long where a GPU sets the pace",
            "where the host does, 1.6 times, and each longer than the one before",
        ),
        why="Something grows: a list that is walked, hooks, graph nodes, sequences, a log; or a GPU gets "
        "hot.",
        do="Compare a window early in the run with one now.",
        semantics="neutral",
        against="A schedule that makes sequences longer does the same on purpose. Not judged on a busy host.",
        reports=(
            report("2.5 to 6.5 s a step over 6 epochs", "Lightning-AI/pytorch-lightning/discussions/8659"),
            report("legitimate: a solver that takes more steps", "RameenAbdal/StyleFlow/issues/104"),
        ),
    ),
)
