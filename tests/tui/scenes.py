"""Runs as plain data: what a hub would say of them. For tests, and for `scripted_hub`."""

import math
import random

import msgspec

from perftui.ipc.findings import Evidence, Finding, Remedy
from perftui.ipc.ledger_records import Verdict
from perftui.ipc.view import (
    DeviceView,
    GpuView,
    Header,
    HostView,
    KernelRow,
    LaunchProgress,
    OperatorRow,
    ProfileRank,
    ProfileView,
    RankHistory,
    RankView,
    RelaunchView,
    RunView,
    Shares,
    StepStats,
)

STARVED = Shares(loader_wait=0.752, forward=0.083, backward=0.142, optimizer=0.011, other=0.012)
HEALTHY = Shares(loader_wait=0.004, forward=0.312, backward=0.602, optimizer=0.061, other=0.021)
DEVICE = DeviceView(
    sampled_steps=50,
    step_ms=60.8,
    wait_ms=8.3,
    h2d_ms=0.4,
    forward_ms=16.2,
    backward_ms=20.5,
    comm_exposed_ms=1.2,
    optimizer_ms=3.9,
    other_ms=10.3,
)
FAST = StepStats(mean=141.0, p50=139.8, p90=160.2, p99=188.4)


def header(**changes: object) -> Header:
    """A run in its second minute."""
    base = Header(
        run_id="demo-1",
        name="resnet18-jpeg",
        host="gpu07",
        command=["python", "train.py"],
        state="training",
        started_unix=1_700_000_000.0,
        elapsed_s=252.4,
        step=412,
        epoch=1,
        steps_total=384,
        epoch_step=28,
        eta_s=133.0,
        loss=2.314,
        settings={},
        overhead_us=11.6,
        overhead_share=0.00008,
    )
    return msgspec.structs.replace(base, **changes)


def rank(number: int, **changes: object) -> RankView:
    """A starved rank."""
    base = RankView(
        rank=number,
        host="gpu07",
        pid=4000 + number,
        state="training",
        age_s=0.1,
        device="cpu",
        gpu_uuid=None,
        world_size=1,
        steps=412,
        epoch=1,
        boundary="optimizer",
        window_steps=100,
        now_ms=142.3,
        step_ms=FAST,
        steps_per_s=7.04,
        samples_per_s=225.3,
        shares=STARVED,
        cpu_share=0.98,
        loss=2.314,
        settings={"loader.num_workers": 0, "loader.pin_memory": False},
    )
    return msgspec.structs.replace(base, **changes)


def gpu(number: int, **changes: object) -> GpuView:
    """A GPU that mostly waits."""
    base = GpuView(
        uuid=f"GPU-{number}",
        host="gpu07",
        ranks=[number],
        age_s=0.4,
        name="NVIDIA H200",
        utilisation_share=0.24,
        memory_used_mib=3174.0,
        memory_total_mib=143_771.0,
        power_w=132.0,
        power_limit_w=700.0,
        temperature_c=41.0,
        sm_clock_mhz=1755.0,
        graphics_share=0.24,
        sm_active_share=0.184,
        occupancy_share=0.062,
        tensor_active_share=0.131,
        dram_active_share=0.043,
        pcie_tx_mib_s=12.0,
        pcie_rx_mib_s=830.0,
        nvlink_tx_mib_s=None,
        nvlink_rx_mib_s=None,
        energy_j_per_step=18.6,
        energy_j_per_sample=0.581,
        throttled_share={"power_cap": 0.31, "thermal_sw": 0.0, "thermal_hw": 0.0, "power_brake": 0.0},
        window_steps=200,
        window_s=28.2,
        sm_clock_max_mhz=1980.0,
        event_reasons=[],
        pcie_generation=5,
        pcie_generation_max=5,
        pcie_width=16,
        pcie_width_max=16,
        xids=[],
        ecc_uncorrected=0,
        remap_failed=False,
        foreign_processes=[],
        backend="NVML 580.159",
        period_s=0.25,
        sweep_ms=4.1,
        sampler_cpu_share=0.006,
        missing={"nvlink_tx_mib_s": "Not Supported", "nvlink_rx_mib_s": "Not Supported"},
    )
    return msgspec.structs.replace(base, **changes)


IDLE: dict[str, object] = {}
BUSY: dict[str, object] = {"utilisation_share": 0.93, "sm_active_share": 0.71, "tensor_active_share": 0.58}


def history(
    number: int, steps: int, first: int = 0, base_ms: float = 140.0, wait: float = 0.75
) -> RankHistory:
    """Steps with the ripple and the outliers of a real loader; the same for the same rank."""
    dice = random.Random(number)
    walls = [
        base_ms * (1 + 0.15 * math.sin(step / 9) + dice.gauss(0, 0.06)) * (3.4 if step % 97 == 96 else 1)
        for step in range(first, first + steps)
    ]
    walls = [max(1.0, wall) for wall in walls]
    return RankHistory(
        rank=number,
        first_step=first,
        stride=1,
        wall_ms=walls,
        wait_ms=[wall * wait for wall in walls],
        flags=[0] * steps,
    )


WORKERS = Finding(
    code="input.workers",
    severity="critical",
    share=0.752,
    sentence="The training waits for data 75 % of each step: batches are made in the training process.",
    evidence=[
        Evidence(name="loader wait", value=0.752, unit="share", window_steps=100),
        Evidence(name="workers", value=0, unit="", window_steps=100),
        Evidence(name="cores idle", value=1.1, unit="", window_steps=100),
    ],
    remedy=Remedy(set={"loader.num_workers": 2}, bound=4.03, expected=2.1),
)
STRAGGLER = Finding(
    code="rank.straggler_input",
    severity="warning",
    share=0.31,
    rank=1,
    sentence="Rank 1 waits for its loader while the others wait for rank 1.",
    evidence=[Evidence(name="loader wait", value=0.61, unit="share", window_steps=80)],
    remedy=Remedy(advice="give this rank more workers, or move its data to faster storage", at="train.py:41"),
)
FINE = Finding(
    code="compute.bound",
    severity="info",
    share=0.98,
    sentence="Nothing to fix: 98 % of each step is computing. A model that learns slowly is another matter.",
    evidence=[Evidence(name="loader wait", value=0.004, unit="share", window_steps=100)],
)
HOST = HostView(
    name="gpu07",
    age_s=0.3,
    cpus=2.0,
    cpu_busy=1.94,
    run_busy=1.8,
    others_busy=0.14,
    load_1m=2.13,
    pressure_share=0.34,
    memory_used_mib=3276.0,
    memory_total_mib=7926.0,
    shm_free_mib=4012.0,
    gpu_note="no NVIDIA GPU here",
)
PROFILE = ProfileView(
    window_id="w1",
    state="done",
    start_step=421,
    steps=3,
    requested_unix=1_700_000_260.0,
    sentence="Loading takes 74 % of the window; convolution leads the rest.",
    ranks=[
        ProfileRank(
            rank=0,
            state="done",
            window_ms=431.0,
            step_ms_before=140.1,
            step_ms_after=141.0,
            stall_ms=88.0,
            loader_share=0.74,
            operators=[
                OperatorRow(
                    name="enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                    count=3,
                    self_cpu_us=318_400.0,
                    cpu_us=318_400.0,
                    self_device_us=None,
                    device_us=None,
                    share=0.739,
                ),
                OperatorRow(
                    name="aten::convolution_backward",
                    count=60,
                    self_cpu_us=41_200.0,
                    cpu_us=42_900.0,
                    self_device_us=None,
                    device_us=None,
                    share=0.096,
                ),
                OperatorRow(
                    name="aten::mkldnn_convolution",
                    count=60,
                    self_cpu_us=24_030.0,
                    cpu_us=25_700.0,
                    self_device_us=None,
                    device_us=None,
                    share=0.056,
                ),
                OperatorRow(
                    name="aten::native_batch_norm",
                    count=60,
                    self_cpu_us=6_120.0,
                    cpu_us=6_890.0,
                    self_device_us=None,
                    device_us=None,
                    share=0.0142,
                ),
            ],
            kernels=[KernelRow(name="sm90_xmma_fprop_implicit_gemm", count=60, total_us=812.0, share=0.41)],
        ),
    ],
)
RELAUNCH = RelaunchView(
    relaunch_id="r1",
    state="measuring",
    set={"loader.num_workers": 2},
    before={"loader.num_workers": 0},
    launches=[
        LaunchProgress(label="A", state="done", steps=214, step_ms=140.6),
        LaunchProgress(label="B", state="measuring", steps=133, step_ms=66.9),
    ],
    message="launch 2: B (loader.num_workers=2)",
)
VERDICT = Verdict(
    verdict="faster",
    sentence="2.10 times as fast (+110 %, 98 % interval +103 to +117 %), 4 launches, 918 steps",
    gain=1.101,
    lo=1.034,
    hi=1.172,
    launches=4,
    steps=918,
)


def starved() -> RunView:
    """One rank on the CPU, starved by its loader."""
    return RunView(header=header(), ranks=[rank(0)], hosts=[HOST], findings=[WORKERS], trials_s=(92.0, 240.0))


def fine() -> RunView:
    """One rank with nothing to fix."""
    return RunView(
        header=header(), ranks=[rank(0, shares=HEALTHY, now_ms=38.2)], hosts=[HOST], findings=[FINE]
    )


def two_ranks() -> RunView:
    """Two ranks, the second starved."""
    return RunView(
        header=header(world_size=2, name="ddp-two"),
        ranks=[
            rank(0, shares=HEALTHY, world_size=2),
            rank(1, marks=["rank.straggler_input"], world_size=2),
        ],
        hosts=[HOST],
        findings=[STRAGGLER, WORKERS],
    )


def gpus(ranks: int) -> RunView:
    """Ranks on one GPU each."""
    views = [
        rank(
            number,
            device=f"cuda:{number}",
            gpu_uuid=f"GPU-{number}",
            world_size=ranks,
            now_ms=84.0 + 3 * number,
            shares=STARVED if number == 5 else HEALTHY,
            marks=["rank.straggler_input"] if number == 5 else [],
        )
        for number in range(ranks)
    ]
    host = msgspec.structs.replace(HOST, cpus=192.0, cpu_busy=61.5, run_busy=58.8, gpu_note=None)
    return RunView(
        header=header(world_size=ranks, name="vit-imagenet"),
        ranks=views,
        gpus=[gpu(number, **(IDLE if number == 5 else BUSY)) for number in range(ranks)],
        hosts=[host],
        findings=[
            msgspec.structs.replace(
                STRAGGLER, rank=5, sentence="Rank 5 waits for its loader while the others wait for rank 5."
            )
        ]
        if ranks > 5
        else [WORKERS],
    )


def ended() -> RunView:
    """A run that failed."""
    return msgspec.structs.replace(
        starved(),
        header=header(
            state="failed", exit_code=1, message="RuntimeError: mat1 and mat2 cannot be multiplied"
        ),
        ranks=[rank(0, state="ended")],
    )


def relaunching() -> RunView:
    """Trials of more workers going on."""
    return msgspec.structs.replace(starved(), relaunch=RELAUNCH)


def decided() -> RunView:
    """The run that was started for good, and the verdict that led to it."""
    launches = [
        LaunchProgress(label="A", state="done", steps=214, step_ms=140.6),
        LaunchProgress(label="B", state="done", steps=251, step_ms=66.9),
        LaunchProgress(label="B", state="done", steps=249, step_ms=67.4),
        LaunchProgress(label="A", state="done", steps=204, step_ms=141.9),
    ]
    view = msgspec.structs.replace(
        RELAUNCH, state="done", verdict=VERDICT, launches=launches, message=VERDICT.sentence
    )
    return msgspec.structs.replace(
        fine(), header=header(parent="demo-0", settings={"loader.num_workers": 2}), relaunch=view
    )


OUTPUT = [f"epoch 1 step {step:4} loss {3.2 - step / 400:.3f}" for step in range(360, 412, 2)]
