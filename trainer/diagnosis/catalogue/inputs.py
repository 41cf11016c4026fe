"""Entries of the family `input`."""

from perftui.trainer.diagnosis.catalogue.entry import Entry, report

ENTRIES = (
    Entry(
        code="input.workers",
        title="The training waits for its loader, because too few processes prepare batches.",
        seen="A GPU that works in bursts; a fast model that gets no faster.",
        signals=(
            "exposed loader wait, share of the step",
            "the live loader's number of workers",
            "CPU of each worker, and how long it was ready without a core",
            "usable cores (affinity and quota)",
            "the script's line that makes the loader, and the dataset's method that makes its samples",
            "the share of their time that workers spend on batches, as they time it: at least half",
            "an idle training thread, and a loader from which another thread takes batches ahead",
        ),
        why="Batches take longer to prepare than to train on, and cores (or waiting that overlaps) are left.",
        do="`loader.num_workers`, as many as the predictor asks for and cores allow; workers that wait for "
        "something else than the CPU may be more than cores.",
        semantics="neutral",
        against="Random augmentations draw another stream. Handing a batch over takes about 1.3 ms and the "
        "first batch of each epoch is waited for all the same: what is left counts. An unsharded "
        "IterableDataset is read once by each worker.",
        reports=(
            report("0 workers to 16: about 10 times faster", "huggingface/transformers/issues/20581"),
            report("2 workers and a GPU idle for 70–92 %", "open-edge-platform/geti/pull/5958"),
            report("waits hidden already: more workers brought nothing", "wandb/senpai/pull/1606"),
        ),
        demo="starved",
    ),
    Entry(
        code="input.item",
        title="Each sample is too dear: all usable cores decode and augment, and the training still waits.",
        seen="All cores at 100 %, the GPU low; more workers change nothing.",
        signals=(
            "exposed loader wait",
            "workers that compute all the time (CPU and waiting for a core, at least 0.75)",
            "no core left for another worker",
            "or: workers that take turns at a lock within which one at a time computes",
            "the line where samples are made, where the training thread makes them; of workers that time "
            "their batches the dataset's method, or in a profile window the function within it (py-spy)",
        ),
        why="The CPU work of a step over the usable cores is longer than the model's part.",
        do="By what the batches are: pictures stored decoded and resized, a faster decoder, fewer or batched "
        "augmentations; text stored as token ids; of other numbers once what is the same in every epoch. Or "
        "more cores.",
        semantics="numeric",
        against="Other decoders round in other ways.",
        reports=(
            report(
                "JPEG decoding bound by an old library: 16 ms to 8 ms", "python-pillow/Pillow/issues/4705"
            ),
            report("one row at a time instead of a batch", "huggingface/datasets/issues/6279"),
            report("the faster decoder: noise where PIL images are wanted", "roboflow/rf-detr/pull/1473"),
        ),
    ),
    Entry(
        code="input.storage",
        title="The loader waits for storage, not for the CPU.",
        seen="Cores and GPU both idle; the first epoch is the slowest, or every epoch is.",
        signals=(
            "exposed loader wait",
            "workers that do not compute, and are found waiting for a device (state D)",
            "what storage delivers to the run, page faults that waited for it, pressure on IO",
            "idle workers that the kernel has asleep until a socket has something for them, or, in a profile "
            "window, within a network connection (socket, ssl, http, urllib3)",
            "workers of which most wait for another one to let go of a lock (a semaphore in shared memory, a "
            "lock on a file; in a window, multiprocessing's), where the one who has it does not compute",
            "not told whether there is a lock: four idle workers or more, and twice the cores, as a doubt",
        ),
        why="Many small reads, a network file system or an object store, or data larger than the memory that "
        "could cache it.",
        do="A local or faster disk, shards instead of many small files, one file handle a worker; more "
        "workers "
        "overlap the waits, up to what storage gives; not behind a lock, where one reads at a time.",
        semantics="neutral",
        against="A run right after another finds the data in the page cache and looks faster for it.",
        reports=(
            report("first epoch 20–30 min, later ones under 2 min", "NVIDIA/DALI/issues/1415"),
            report("data on a slow disk, 8 workers, GPU hardly used", "mlfoundations/open_clip/issues/899"),
            report("a network share", "horovod/horovod/issues/824"),
        ),
    ),
    Entry(
        code="input.collate",
        title="Putting samples together takes most of the loading.",
        seen="A slow loader although the dataset itself is quick.",
        signals=(
            "exposed loader wait",
            "both timed for each batch, in forked workers or the training thread: collating takes more than "
            "half, and storage is not what is waited for",
            "not timed and without workers: most looks in the loader are in collate, stacking left out",
            "without workers, in a profile window: time in stack and cat that only the loading can hold",
            "with workers: their stacks in a profile window, outside of the dataset's own methods",
            "or: workers idle and the training thread computes for 0.4 of its wait, to take batches over",
        ),
        why="Lists of Python numbers are turned into tensors one number at a time; a batch of hundreds of "
        "tensors is handed over one by one.",
        do="Return one array or tensor for each field; a collate_fn that stacks; workers, to do it beside "
        "the model.",
        semantics="neutral",
        against="Workers that are spawned, and loaders and fetchers that are not torch's, are not timed: "
        "then without a window it is `input.item` or `input.workers`.",
        reports=(
            report("collating 32 large images takes 0.3 s", "pytorch/pytorch/issues/22789"),
            report("format conversions of a dataset", "huggingface/datasets/issues/5841"),
        ),
    ),
    Entry(
        code="input.one_slow_worker",
        title="One worker holds up all the others' batches.",
        seen="Every n-th step is slow, with n workers.",
        signals=(
            "looks that found the training thread waiting for the same worker, with all other batches there",
            "waits by worker, where one worker's CPU stands out",
        ),
        why="Batches are handed out in order: one worker with a slow file, disk or connection makes all "
        "wait.",
        do="See what that worker does differently; `in_order=False` lets the others go first.",
        semantics="changes-training",
        against="Workers that are all too slow and run in step look the same by their waits alone: there the "
        "other batches are not there yet, and it is `input.workers`.",
        reports=(report("bursts of as many batches as workers", "gidariss/wDAE_GNN_FewShot/issues/17"),),
    ),
    Entry(
        code="input.too_many_workers",
        title="There are more workers than the work or the cores are good for.",
        seen="More workers made it slower.",
        signals=(
            "exposed loader wait",
            "twice as many workers as usable cores, ready but without a core",
            "or: workers with nothing to do, and a wait of under 3 ms in which batches are handed over",
            "or: twice as many as usable cores, nearly never at a batch in a profile window, so that making "
            "one takes less than the training thread needs to take it over",
            "or: a step's batches are made in half of the wait for them, as workers time it, and these have "
            "none to make for most of the time; four or more of them, and twice the cores, also where making "
            "takes longer",
        ),
        why="Workers take the cores from each other and from the training thread; or handing a batch "
        "over costs "
        "more than making it.",
        do="An experiment: as many workers as cores, or none.",
        semantics="neutral",
        against="The best number changes with the phase of a training: measure. Workers that are seldom at a "
        "batch and few are `input.workers`, in doubt: single batches may take long.",
        reports=(
            report("32 workers for each of 8 ranks on 32 cores", "facebookresearch/deit/issues/81"),
            report("any worker slower than none", "Lightning-AI/pytorch-lightning/issues/17410"),
            report(
                "the best number changes with the resolution", "rosinality/style-based-gan-pytorch/issues/108"
            ),
        ),
    ),
    Entry(
        code="input.epoch_start",
        title="The head of each epoch costs: workers and iterators begin anew.",
        seen="The training stops for a moment at each epoch.",
        signals=(
            "loader wait of steps that begin an epoch",
            "epochs begun in the window",
            "persistent_workers",
            "how long worker_init_fn took in the slowest worker",
        ),
        why="Worker processes are started again for each iterator, and import what they need; or the sampler "
        "walks over the data.",
        do="`loader.persistent_workers`; longer epochs; build the DataLoader once.",
        semantics="neutral",
        against="Kept workers have their own copy of the dataset: not where it changes from epoch to epoch.",
        reports=(
            report("7 minutes before an epoch, 35 s with kept workers", "open-mmlab/mmhuman3d/pull/233"),
            report("10 s lost each epoch under spawn", "boreshkinai/delta-interpolator/pull/3"),
            report("set_epoch unheard by kept workers", "huggingface/datasets/issues/6673"),
        ),
    ),
    Entry(
        code="input.cold_start",
        title="Only the first epoch waited for data.",
        seen="A slow first epoch, then full speed.",
        signals=(
            "loader wait by epoch: the first 2.5 times the later ones",
            "what storage delivered meanwhile",
        ),
        why="The data was not in the page cache, or in the script's own.",
        do="Nothing for a long run; warm the cache for many short ones.",
        semantics="neutral",
        against="It makes any relaunch look faster: compare at the same place of the epoch.",
        reports=(report("first epoch 20–30 min, later ones under 2 min", "NVIDIA/DALI/issues/1415"),),
    ),
    Entry(
        code="input.inline",
        title="The training thread prepares its batches itself, instead of a loader beside the model.",
        seen="One core busy, the GPU waiting; no DataLoader, or batches that are changed after it.",
        signals=(
            "time before the backward, beyond a forward as long as the backward",
            "looks at the stack: a fifth of those in model and script find the script's own lines, and not "
            "past the model's call, by the order of lines: there they are `cpu.python`",
            "without looks and without a loader: that time alone, as a doubt",
            "beside a GPU without a loader: no more than the GPU idles meanwhile, by a window, else by its "
            "counters",
        ),
        why="What could run beside the model runs before it.",
        do="The preparation into a Dataset, and a DataLoader with workers. What needs the model's outputs, "
        "where the order is not known: as for `cpu.python`.",
        semantics="neutral",
        against="A forward with much work and no gradient looks the same without a look at the stack. Below "
        "2 ms a step nothing is said: a worker would take as long to hand the batch over.",
        reports=(
            report(
                "lengths computed item by item before the training", "huggingface/transformers/issues/10909"
            ),
            report("a hand-made process pool: slower still", "lukas-blecher/LaTeX-OCR/discussions/153"),
        ),
    ),
)
