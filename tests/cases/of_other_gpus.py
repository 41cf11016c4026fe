"""Scripts for machines with GPUs, written after the rules and without regard to them, as in `of_others`."""

from dataclasses import replace

from tests.cases.case import HEALTHY, Case

_CASES = (
    Case(
        "gpu_times_each_part",
        ("sync.each_step",),
        gpus=1,
        report="R108",
        mend=(("    torch.cuda.synchronize()\n", ""),),
        note="a GPU part takes as long as the host needs to issue the next: it idles for a third of the step",
    ),
    Case(
        "gpu_windows_of_a_map",
        ("transfer.pageable",),
        gpus=1,
        report="R096",
        mend=(
            ("torch.from_numpy(file)", "torch.from_numpy(file).pin_memory()"),
            ("window.to(device)", "window.to(device, non_blocking=True)"),
        ),
    ),
    Case(
        "gpu_boxes_of_each_image",
        ("transfer.many_small",),
        gpus=1,
        mend=(
            ("{name: value.to(device) for name, value in each.items()}", "each"),
            ("[each[name] for each in targets])", "[each[name] for each in targets]).to(device)"),
        ),
        note="512 copies a step, of at most 300 bytes each; mended, five",
    ),
    Case(
        "gpu_integrates_a_field",
        ("launch.bound",),
        gpus=1,
        report="R206",
        mend=(
            (
                "optimizer =",
                "flow = torch.cuda.make_graphed_callables(flow, (torch.randn_like(starts),))\noptimizer =",
            ),
        ),
        note="mended, for the clock: the same kernels as one CUDA graph",
    ),
    Case(
        "gpu_convolves_exactly",
        ("compute.fp32",),
        gpus=1,
        mend=(("torch.backends.cudnn.allow_tf32 = False\n", "torch.backends.cudnn.allow_tf32 = True\n"),),
    ),
    Case(
        "gpu_half_of_it_at_home",
        ("compute.device",),
        gpus=1,
        mend=(('FRONT, BACK = torch.device("cpu")', 'FRONT, BACK = torch.device("cuda")'),),
        note="a part of the model, which takes nearly all of the step",
    ),
    Case(
        "gpu_keeps_its_guesses",
        ("memory.growth",),
        costs_time=False,
        gpus=1,
        seconds=30,
        mend=(("said = []", "said = __import__('collections').deque(maxlen=100)"),),
        note="2 MiB a step, for ever",
    ),
    Case(
        "gpu_unet_of_two",
        ("compute.small_batch", "launch.bound"),
        gpus=1,
        report="R199",
        mend=(("BATCH = 2\n", "BATCH = 128\n"),),
        mended_samples=64,
        note="kernels of two pictures are over before the host has issued the next: two names of one thing",
    ),
    Case(
        "gpu_waits_for_collectives",
        ("debug.launch_blocking",),
        gpus=2,
        ranks=2,
        report="R117",
        mend=(('os.environ["TORCH_NCCL_BLOCKING_WAIT"] = "1"\n', ""),),
        note="the host waits for each collective before it issues the next",
    ),
    Case(
        "gpu_two_from_one_process",
        ("comm.backend",),
        gpus=2,
        report="R137",
        mend=(("torch.nn.DataParallel(net, device_ids=[0, 1])", "net"),),
        note="mended, for the clock: one GPU, with the whole batch",
    ),
    Case("gpu_healthy_diffusion", HEALTHY, gpus=1, seconds=30),
)
_RULES_SINCE = frozenset({"gpu_half_of_it_at_home"})
"""Scripts for which rules have been changed."""
OTHER_GPUS = tuple(replace(case, fresh=case.script not in _RULES_SINCE) for case in _CASES)
