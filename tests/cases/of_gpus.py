"""Scripts for machines with GPUs; they never run where there is none."""

from tests.cases.case import HEALTHY, Case

GPUS = (
    Case("gpu_many_launches", ("launch.bound",), gpus=1, report="R205"),
    Case(
        "gpu_reads_each_norm",
        ("sync.each_step",),
        gpus=1,
        report="R105",
        mend=(("[weight.grad.norm().item() for weight in model.parameters()]", "[0.0]"),),
    ),
    Case(
        "gpu_numpy_in_forward",
        ("sync.each_step",),
        gpus=1,
        report="R110",
        mend=(
            (".cpu().numpy()", ""),
            ("float(scale.max())", "scale.max()"),
        ),
    ),
    Case(
        "gpu_empties_the_cache",
        ("sync.each_step",),
        gpus=1,
        report="R124",
        mend=(("    torch.cuda.empty_cache()\n", ""),),
        note="returning the memory waits for the GPU, and asking for it again waits too",
    ),
    Case(
        "gpu_pageable_batches",
        ("transfer.pageable",),
        gpus=1,
        report="R115",
        mend=(
            ("torch.randn(256, 3, 224, 224)", "torch.randn(256, 3, 224, 224).pin_memory()"),
            ("images.to(device)", "images.to(device, non_blocking=True)"),
        ),
    ),
    Case(
        "gpu_many_small_copies",
        ("transfer.many_small",),
        gpus=1,
        report="R100",
        mend=(
            (
                "torch.cat([field.to(device) for field in sample.values()])",
                "torch.cat(list(sample.values()))",
            ),
            ("torch.stack(rows)", "torch.stack(rows).to(device)"),
        ),
    ),
    Case(
        "gpu_single_precision",
        ("compute.fp32",),
        gpus=1,
        report="R181",
        mend=(
            ("torch.manual_seed(0)\n", 'torch.manual_seed(0)\ntorch.set_float32_matmul_precision("high")\n'),
        ),
    ),
    Case(
        "gpu_channels_first",
        ("compute.layout",),
        gpus=1,
        seconds=30,
        report="R183",
        mend=(
            (".to(device)", ".to(device, memory_format=torch.channels_last)"),
            ("device=device), torch", "device=device).contiguous(memory_format=torch.channels_last), torch"),
        ),
        note="a small gain by nature: 1.2 in the reports",
    ),
    Case(
        "gpu_left_alone",
        ("compute.device",),
        gpus=1,
        report="R193",
        mend=(
            ("model = torch.nn.Sequential(", 'model = torch.nn.Sequential(torch.nn.Identity().to("cuda"), '),
            ("optimizer =", 'model.to("cuda")\noptimizer ='),
            ("model(images), labels", 'model(images.to("cuda")), labels.to("cuda")'),
        ),
    ),
    Case(
        "gpu_two_workers",
        ("input.workers",),
        gpus=1,
        report="R001",
        mend=(("num_workers=2", "num_workers=12, persistent_workers=True"),),
    ),
    Case(
        "gpu_batch_too_large",
        ("memory.oom",),
        costs_time=False,
        gpus=1,
        seconds=90,
        note="ends by itself, out of memory",
    ),
    Case(
        "gpu_holes_in_memory",
        HEALTHY,
        gpus=1,
        report="R223",
        frozen=False,
        note="was to show memory.fragmentation, and does not: what the longest left behind serves all "
        "shorter ones (no retries, 3 % of 3 GiB in pieces, the GPU computes 99 % of the time)",
    ),
    Case(
        "gpu_nearly_full",
        ("memory.near_limit",),
        costs_time=False,
        gpus=1,
        mend=(("free - (700 << 20)", "free // 2"),),
    ),
    Case(
        "gpu_graphs_kept",
        ("memory.growth",),
        costs_time=False,
        gpus=1,
        seconds=30,
        mend=(
            (
                "total = total + model(inputs[:512]).abs().mean()",
                "total = total + model(inputs[:512]).abs().mean().detach()",
            ),
        ),
    ),
    Case(
        "gpu_graphs_skipped",
        ("compile.cudagraph_skips",),
        gpus=1,
        seconds=30,
        report="R218",
        mend=(
            (
                "        with torch.no_grad():\n"
                "            history.mul_(0.9).add_(inputs.mean(0), alpha=0.1)\n",
                "",
            ),
        ),
    ),
    Case(
        "gpu_launches_wait",
        ("debug.launch_blocking",),
        gpus=1,
        report="R118",
        mend=(('os.environ["CUDA_LAUNCH_BLOCKING"] = "1"\n', ""),),
    ),
    Case(
        "gpu_shared_with_others",
        ("gpu.foreign_process",),
        costs_time=False,
        gpus=1,
        report="R235",
        gpu_neighbour=True,
        note="another process keeps the GPU busy",
    ),
    Case(
        "gpu_gradients_over_nccl",
        ("comm.exposed",),
        gpus=2,
        ranks=2,
        report="R142",
        mend=(
            (
                "model = DistributedDataParallel(net, device_ids=[rank], gradient_as_bucket_view=True)",
                "model = net",
            ),
        ),
        note="mended, for the clock: no exchange at all",
    ),
    Case(
        "gpu_synced_accumulation",
        ("comm.no_sync",),
        gpus=2,
        ranks=2,
        report="R126",
        mend=(
            (
                "    for micro in range(ACCUMULATE):\n",
                "    for micro in range(ACCUMULATE):\n"
                "        model.require_backward_grad_sync = micro == ACCUMULATE - 1\n",
            ),
        ),
    ),
    Case(
        "gpu_slow_rank",
        ("rank.straggler_compute",),
        gpus=2,
        ranks=2,
        report="R163",
        mend=(("EXTRA = 40 if rank == 1 else 0", "EXTRA = 0"),),
    ),
    Case(
        "gpu_slow_shard_of_four",
        ("rank.straggler_input",),
        gpus=4,
        ranks=4,
        mend=(('{"num_workers": 0} if rank == 2 else {"num_workers": 6}', '{"num_workers": 6}'),),
    ),
    Case(
        "gpu_over_gloo",
        ("comm.backend",),
        gpus=2,
        ranks=2,
        report="R139",
        mend=(('"gloo"', '"nccl"'),),
    ),
    Case("gpu_healthy_resnet", HEALTHY, gpus=1, seconds=30),
    Case("gpu_healthy_transformer", HEALTHY, gpus=2, ranks=2, seconds=30),
)
