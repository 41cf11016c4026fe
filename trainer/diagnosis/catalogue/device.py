"""Entries of the families `transfer`, `sync`, `launch`, `compute`, `gpu`."""

from perftui.trainer.diagnosis.catalogue.entry import Entry, report

ENTRIES = (
    Entry(
        code="transfer.pageable",
        title="Batches are copied to the GPU from memory that is not page-locked.",
        seen="Time in .to() or .cuda().",
        signals=(
            "copies to the device, share of the step on the device's timeline",
            "in a window: copies marked pageable, their rate, and the waits that they make",
            "without one: pin_memory, and whether the batch is page-locked",
        ),
        why="Such copies go by a buffer of the driver and cannot run beside kernels.",
        do="An experiment: `loader.pin_memory`, together with non_blocking=True.",
        semantics="neutral",
        against="It often moves the cost instead of removing it: judge by the step alone.",
        reports=(
            report("next() 40–100 ms to under 5 ms", "pytorch/pytorch/issues/24984"),
            report("loading got faster, the step did not", "facebookresearch/detectron2/pull/648"),
            report("pinning slowed the whole", "allenai/allennlp/issues/4670"),
        ),
    ),
    Entry(
        code="transfer.many_small",
        title="Many small copies go to the GPU in each step.",
        seen="Gaps before the forward.",
        signals=("in a window: copies a step, their size, and how long the GPU idles after them",),
        why="Each costs a call, and from pageable memory a wait: such waits are the copies', "
        "not `sync.each_step`.",
        do="One packed tensor; constants made on the device once.",
        semantics="neutral",
        reports=(report("two tiny buffers each step drain the queue", "Nerogar/OneTrainer/pull/1608"),),
    ),
    Entry(
        code="sync.each_step",
        title="The GPU idles because the host stops to wait for it.",
        seen="A GPU that pauses at every step.",
        signals=(
            "in a window: the time that the host waits for the GPU in operators and calls, or "
            "the GPU's idle time for the host, whichever is less; waits of copies left out",
            "looks beside a window that the profiler has slowed: waits are longer without it",
            "without one: looks that found the training thread waiting for a GPU that idles as well",
            "blocks that the allocator gives back in each step without having run out",
            "the calls with their operator; the line where the thread was found waiting most",
        ),
        why=".item(), print, .cpu() or mask indexing wait until the GPU is done, and then nothing is queued: "
        "the GPU waits for each launch behind it. "
        "torch.cuda.empty_cache() waits as well, and so does asking for the memory anew.",
        do="Read the loss every n-th step; keep it on the device; one read for many values (.tolist()); "
        "no empty_cache() in the loop.",
        semantics="neutral",
        against="The gain ends where the GPU's own work begins: on a busy GPU there is none. Nor is it "
        "more than the host waits: what it computes behind a short wait it would compute without it.",
        reports=(
            report("loss.item() each step: 40–50 ms in a wait", "meta-pytorch/torchtune/pull/522"),
            report("two reads a step to one: 5–10 %", "openvdb/fvdb-reality-capture/pull/144"),
            report("85 % expected, under 1 % measured", "lnccbrown/LANfactory/pull/120"),
        ),
    ),
    Entry(
        code="launch.bound",
        title="The GPU waits for the host to launch its kernels.",
        seen="A GPU half idle, one core busy, a loader that keeps up.",
        signals=(
            "in a window: idle time for want of launches, kernels shorter than their launch, an empty queue; "
            "not where reads of values are most of the launches or of that time: that is `sync.each_step`",
            "less what waits for the GPU explain, what the host computes itself (operators of 0.1 ms and "
            "more that launch nothing), and stretches of 1 ms and more outside of all operators",
            "without one: engine busy under 70 % of the time, training thread always computing, fed, and "
            "neither waiting for the GPU nor copying to it, nor in lines before the model's call",
        ),
        why="Each operator costs the host several microseconds, and small kernels take less.",
        do="An experiment: torch.compile with CUDA graphs, or a larger batch.",
        semantics="numeric",
        against="The default mode of compile can be slower: ResNet-50 at batch 16 on an H200, 23.0 ms, "
        "28.2 ms "
        "with it, 5.2 ms with CUDA graphs.",
        reports=(
            report("about 6.4 µs a launch", "ahrefs/ocannl/issues/488"),
            report(
                "three fingerprints, in a controlled lab",
                "https://duoan.github.io/posts/profiling-pytorch-training-end-to-end",
            ),
        ),
    ),
    Entry(
        code="compute.device",
        title="The model, or a part of it, trains on the CPU although there is a GPU.",
        seen="A GPU at 0 %.",
        signals=(
            "devices of all parameters",
            "GPUs that the kernel's drivers know",
            "in a window: how long the GPU idles while operators compute on the CPU",
        ),
        why="A missing .to(device), a build of torch without GPU support, or a part that was forgotten.",
        do="model.to(device) before the optimizer is built; torch.cuda.is_available().",
        semantics="numeric",
        against="Not said where CUDA_VISIBLE_DEVICES hides all GPUs on purpose, nor where tensors are on a "
        "GPU or FSDP offloads: then the parameters are only kept on the CPU.",
        reports=(
            report("242 s an iteration", "tristandeleu/pytorch-maml/issues/14"),
            report("on the CPU, unnoticed", "dusty-nv/jetson-inference/issues/1071"),
        ),
    ),
    Entry(
        code="compute.fp32",
        title="Tensor cores stand idle: products are computed in full float32.",
        seen="A new GPU no faster than the one before it.",
        signals=(
            "GPU sets the pace; TF32 off, parameters float32",
            "in a window: time of the kernels of products that use no tensor cores",
            "without one: tensor cores busy under 2 %, multiprocessors busy, memory not the limit",
        ),
        why="TF32 is off by default for products, and mixed precision has to be asked for.",
        do='An experiment: torch.set_float32_matmul_precision("high"), or bfloat16 autocast.',
        semantics="numeric",
        against="Little where memory is the limit; autocast was slower in small models.",
        reports=(
            report("TF32 off, and no warning", "pytorch/pytorch/issues/153195"),
            report("mixed precision slower: 5.4 to 9.1 s", "facebookresearch/fairchem/issues/397"),
        ),
    ),
    Entry(
        code="compute.layout",
        title="Images are turned between memory formats on the GPU.",
        seen="Kernels named nchwToNhwc.",
        signals=("in a window: their share of device time", "share of weights in channels_last"),
        why="Tensor cores want channels last; the model keeps channels first.",
        do="An experiment: channels_last for model and images.",
        semantics="numeric",
        against="No gain, or a loss, in some models (grouped convolutions 4.1 to 143 ms).",
        reports=(
            report("22 % faster with mixed precision", "NVIDIA/apex/pull/668"),
            report("no gain, less stable", "NVIDIA/apex/issues/1445"),
        ),
    ),
    Entry(
        code="compute.small_batch",
        title="The batch is too small: a GPU is not filled, or a CPU spends its time calling operators.",
        seen="A GPU at 30 %, memory mostly free; on a CPU a step that hardly gets longer with the batch.",
        signals=(
            "on a GPU: samples a batch under 16, multiprocessors busy, memory in use under half",
            "on a CPU: up to 4 samples a forward, and forward and backward under 150 us for each tensor of "
            "parameters",
            "on a CPU without a loader, by a window: 4 backwards a step or more, and under 6 us of the step "
            "for each operator called",
        ),
        why="Kernels are too short to be worth their launch, operators too short to be worth their call.",
        do="A larger batch, by the script's own argument; where single samples are accumulated, fewer and "
        "larger micro-batches, which is the same training.",
        semantics="changes-training",
        against="Another batch size is another training.",
        reports=(
            report("30 % of a GPU at batch 16", "ultralytics/ultralytics/issues/2278"),
            report("near the memory's end a larger batch is slower", "huggingface/transformers/issues/14615"),
        ),
    ),
    Entry(
        code="compute.optimizer",
        title="The optimizer takes a large part of the step.",
        seen="Steps that hardly get longer with the batch.",
        signals=("optimizer's share of the step", "tensors, foreach and fused of the living optimizer"),
        why="Tensors are updated one by one, or the model is large for its batch.",
        do="An experiment: fused=True or foreach=True; accumulated gradients.",
        semantics="numeric",
        against="Fused was slower in some reports.",
        reports=(
            report("fused: 22 to 8 ms, 3 % of the step", "deepmodeling/deepmd-kit/pull/4463"),
            report("fused slower", "pytorch/pytorch/issues/121857"),
        ),
    ),
    Entry(
        code="compute.denormals",
        title="Weights are denormal numbers, with which processors compute slowly.",
        seen="A CPU training that gets ten times slower for no reason.",
        signals=("share of sampled weights below 1e-38 and not 0",),
        why="Weights that vanish (decay, dead layers) leave the range of normal numbers.",
        do="torch.set_flush_denormal(True).",
        semantics="numeric",
        against="Denormal activations and inputs are not looked at. Frozen weights and buffers are, once the "
        "model was found being called.",
        reports=(),
    ),
    Entry(
        code="compute.operator",
        title="Operators that are not what models are made of hold much of the time.",
        seen="Nothing, without a profile.",
        signals=(
            "in a window: self time by operator, with shapes and callers where recorded",
            "of several of one purpose together, with what they call and their backward: decompositions and "
            "solves, sorting, running sums, scattered writes, Fourier transforms, grids, distances",
            "products, convolutions, attention, recurrences and norms are expected to lead: the largest is "
            "told with `compute.bound`",
        ),
        why="It is large, it is called for nothing that is trained, or has the wrong form for the hardware.",
        do="Another form of it, or less of it: outside the step, every n-th step, a fused kernel.",
        semantics="numeric",
        reports=(
            report("vocabulary padded to 64: 4 %", "RobertRiachi/nanoPALM/pull/6"),
            report("a mask that forbids the fast attention", "Svardfox/LaViT/issues/4"),
        ),
    ),
    Entry(
        code="compute.backward_ratio",
        title="The forward runs again in the backward, or is much longer than it.",
        seen="Memory mostly free, and a backward of three times the forward.",
        signals=(
            "looks at the stack that found a forward within the backward (activation checkpointing): 10 % "
            "or more, with half of the memory free",
            "forward over backward above 2, where 0.5 is usual; the line at which the forward was found most",
            "looks in forwards that leave no gradient by design: of a model of which nothing is trained, or "
            "within torch.no_grad()",
        ),
        why="Activation checkpointing computes the forward twice, to save memory. A forward much longer than "
        "its backward leaves no gradient for the most part (work on the batch, metrics, a frozen model).",
        do="No checkpointing where memory allows, or of fewer layers; move what needs no gradient out.",
        semantics="numeric",
        against="Where memory is short checkpointing is right, and nothing is said. A long backward proves "
        "nothing, and what activations would take is not known. A teacher, a target network or a frozen "
        "backbone that explains the forward's length is meant so: a remark under `compute.bound`. What "
        "torch.compile recomputes cannot be seen.",
        reports=(
            report("recomputing 100 times slower", "Modalities/modalities/issues/13"),
            report("checkpointing with memory to spare", "Nerogar/OneTrainer/issues/40"),
        ),
    ),
    Entry(
        code="compute.bound",
        title="Healthy: the model sets the pace.",
        seen="A loss that falls slowly is a matter of learning, not of speed.",
        signals=(
            "loader wait under 10 % on every rank",
            "on a CPU: little time that is nobody's, a busy training thread",
            "on a GPU: it computes 80 % of the time in a window, or its engines are busy; without either it "
            "is said with a doubt",
        ),
        why="Loader and script keep up.",
        do="Nothing. A profile window shows what the step is spent on.",
        semantics="neutral",
        against="Not said beside anything that costs, nor on a busy host.",
        demo="healthy",
    ),
    Entry(
        code="gpu.throttled",
        title="The GPU is held down by heat or a power brake.",
        seen="Speed that falls some minutes after the start, or at one rank.",
        signals=("time with clocks held down, by kind, over the steps", "temperature, clock"),
        why="Air flow, dust, a power supply.",
        do="Air, fans; another GPU to compare.",
        semantics="neutral",
        against="A lower clock is not as much lower throughput: −20 % cost 5 % in one report.",
        reports=(
            report(
                "one hot GPU of 16: up to five times slower",
                "https://jingchaozhang.github.io/Thermal-Throttling-Impact-on-Multi-Node-Training",
            ),
            report("clock −20.5 %, throughput −5 %", "noonghunna/club-3090/issues/178"),
        ),
    ),
    Entry(
        code="gpu.power_capped",
        title="The power limit takes part of the GPU's clock, as it does of large ones at full load.",
        seen="Clocks below the maximum.",
        signals=("time with clocks held down by the limit", "clock and highest clock", "power and limit"),
        why="Full load.",
        do="Nothing, unless the limit was lowered by hand.",
        semantics="neutral",
    ),
    Entry(
        code="gpu.foreign_process",
        title="Somebody else is on the GPU.",
        seen="Speed that changes with the hour.",
        signals=("processes on the GPU that are not of the run, with their memory",),
        why="Kernels of both take turns.",
        do="End it if it is yours; another GPU.",
        semantics="neutral",
        against="Memory alone slows nothing.",
        reports=(report("epochs from 390 to 1200 s", "junyanz/pytorch-CycleGAN-and-pix2pix/issues/281"),),
    ),
    Entry(
        code="gpu.link",
        title="The GPU's link to the host is slower than it could be, under load.",
        seen="Copies and collectives at a fraction of their rate.",
        signals=("highest generation and width seen while the GPU worked", "copies' share of the step"),
        why="A bad seat or riser, a setting of the board, power saving that does not end.",
        do="Reseat, BIOS; compare with another GPU.",
        semantics="neutral",
        against="At rest a link goes to a low generation: judged under load only.",
        reports=(
            report("generation 2 for hours, 8 GB/s instead of 64", "local-inference-lab/rtx6kpro/pull/88"),
        ),
    ),
)
