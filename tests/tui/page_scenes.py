"""What the pages show: findings that hang together, judgements not made, experiments, ranks that differ."""

import math

import msgspec

from perftui.ipc.dashboard_messages import (
    Answer,
    Done,
    LedgerQuery,
    Question,
    RanksQuery,
    SearchQuery,
    ToDashboard,
)
from perftui.ipc.facts import AllocatorFacts, BackendFacts, OptimizerFacts, RankFacts
from perftui.ipc.findings import Evidence, Finding, Remedy, Unjudged
from perftui.ipc.host_view import LoaderWorkers, Pressure, WorkerView
from perftui.ipc.ledger_records import Comparison, Launch, Verdict
from perftui.ipc.messages import PROTOCOL_VERSION, Hello
from perftui.ipc.step_record import StepRecord
from perftui.ipc.view import HostView, RunView
from perftui.trainer.hub.rank_blocks import rank_map
from perftui.trainer.hub.rank_track import RankTrack
from perftui.trainer.hub.readings import Readings
from perftui.trainer.hub.step_blocks import step_history
from perftui.trainer.hub.step_lanes import with_lanes
from perftui.trainer.hub.step_log import StepLog
from tests.tui import scenes, search_scenes

CAUSE = Finding(
    code="input.too_many_workers",
    severity="critical",
    share=0.42,
    sentence="16 loader workers and their threads share 8 cores: they keep each other from working.",
    evidence=[
        Evidence(name="loader wait", value=0.42, unit="share", window_steps=200),
        Evidence(name="workers without a core", value=0.31, unit="share", window_steps=0),
        Evidence(name="step", value=141.2, unit="ms", window_steps=200),
    ],
    coverage=0.93,
    remedy=Remedy(
        set={"loader.num_workers": 7},
        bound=1.72,
        expected=1.4,
        caution="the samples and their order stay; augmentations draw another stream of numbers",
    ),
    unsure="a profile window shows where the workers wait",
)
CONSEQUENCE = Finding(
    code="input.epoch_start",
    severity="warning",
    share=0.08,
    sentence="Each epoch begins with 11 s in which the workers are started anew.",
    evidence=[Evidence(name="first wait of an epoch", value=11_200.0, unit="ms", window_steps=3)],
    under="input.too_many_workers",
)
ADVICE = Finding(
    code="sync.each_step",
    severity="warning",
    share=0.06,
    sentence="The training thread waits for the GPU at each step.",
    evidence=[Evidence(name="waits a step", value=2, unit="", window_steps=3)],
    remedy=Remedy(advice="read the loss every 100 steps instead of `loss.item()` at each", at="train.py:88"),
)
UNJUDGED = [
    Unjudged(
        code="launch.bound",
        reason="no profile window so far",
        settled_by="a profile window",
        rank=rank,
    )
    for rank in range(4)
] + [Unjudged(code="gpu.throttled", reason="clock reasons are not read here", settled_by="another driver")]


def launch(label: str, step_ms: float | None, **changes: object) -> Launch:
    """One launch of an experiment."""
    base = Launch(
        run_id=f"trial-{label}",
        label="B" if label == "B" else "A",
        settings={},
        outcome="stopped",
        steps=214,
        se=0.011,
        step_ms=step_ms,
        startup_s=14.2,
        loss=2.476,
        host="gpu07",
        effective={"loader.num_workers": 0 if label == "A" else 2, "compile.mode": "off"},
        foreign_cores=0.2,
    )
    return msgspec.structs.replace(base, **changes)


def comparison(number: int, **changes: object) -> Comparison:
    """An experiment that came out well."""
    base = Comparison(
        comparison_id=f"c{number}",
        unix=1_700_000_000.0 + 600 * number,
        name="resnet18-jpeg",
        host="gpu07",
        command=["python", "train.py"],
        before={"loader.num_workers": 0},
        set={"loader.num_workers": 2},
        semantics="neutral",
        bound=4.0,
        expected=2.1,
        launches=[launch("A", 140.6), launch("B", 66.9), launch("B", 67.4), launch("A", 141.9)],
        verdict=scenes.VERDICT,
        finding="input.workers",
        commit="dafb74c3a1",
        dirty=True,
        versions={"torch": "2.14.1", "python": "3.11.7"},
    )
    return msgspec.structs.replace(base, **changes)


COMPARISONS = [
    comparison(3),
    comparison(
        2,
        set={"compile.mode": "max-autotune"},
        finding="launch.bound",
        launches=[
            launch("A", 140.2),
            launch("B", None, outcome="oom_gpu", steps=0, se=None, loss=None, note="CUDA out of memory"),
        ],
        verdict=Verdict(verdict="failed", sentence="launch 2 ran out of GPU memory", launches=2),
    ),
    comparison(
        1,
        name="other-model",
        command=["python", "other.py"],
        verdict=Verdict(verdict="too_noisy", sentence="too noisy to judge: other work came and went"),
    ),
]


def steps_log(steps: int, wait: float = 0.75) -> StepLog:
    """The steps of `scenes.history` as the hub keeps them."""
    log = StepLog()
    made = scenes.history(0, steps, wait=wait)
    for step, (wall_ms, wait_ms) in enumerate(zip(made.wall_ms, made.wait_ms, strict=True)):
        row = dict.fromkeys(StepRecord._fields, -1)
        row |= {"step": step, "wall_ns": int(wall_ms * 1e6), "wait_ns": int(wait_ms * 1e6), "flags": 0}
        row |= {"end_ns": (step + 1) * 140_000_000, "optimizer_ns": 0, "epoch": 0, "worker": step % 3}
        row |= {"forward_ns": int(wall_ms * 8e4), "backward_ns": int(wall_ms * 1.2e5)}
        log.add(StepRecord(**row))
    return log


LOG = steps_log(412)


def _track() -> tuple[RankTrack, Readings]:
    """The rank that has made these steps, its GPU and its host read once a second."""
    hello = Hello(
        run_id="demo-1", host="gpu07", rank=0, seq=0, protocol=PROTOCOL_VERSION, pid=4000, start_ticks=1,
        local_rank=0, world_size=1, python="3.11", torch="2.14", device="cuda:0",
        command=["python", "train.py"], wall_offset_ns=0, gpu_uuid="GPU-0",
    )  # fmt: skip
    track = RankTrack(hello, 0.0, 0.0, log=LOG, gpu_uuid="GPU-0")
    readings = Readings()
    for second in range(1, 60):
        wave = 0.5 + 0.4 * math.sin(second / 4)
        gpu = scenes.gpu(0, sm_active_share=wave, tensor_active_share=wave / 2, dram_active_share=None)
        readings.hear_gpus([gpu], float(second))
        host = msgspec.structs.replace(scenes.HOST, run_busy=1 + wave, others_busy=0.1)
        readings.hear_hosts([host], float(second))
    return track, readings


TRACK, READINGS = _track()


def uneven_logs(ranks: int, steps: int, late: dict[int, float]) -> dict[int, StepLog]:
    """Ranks that take 100 ms a step, and some of them so many ms longer before the exchange."""
    logs: dict[int, StepLog] = {}
    for rank in range(ranks):
        row = dict.fromkeys(StepRecord._fields, -1) | {"epoch": 0, "flags": 0, "forward_ns": 0}
        own_ms = 60.0 + late.get(rank, 0.0)
        row |= {"wall_ns": 100_000_000, "wait_ns": int(own_ms * 1e6), "optimizer_ns": 0}
        row |= {"backward_ns": int((100.0 - own_ms) * 1e6)}
        logs[rank] = StepLog()
        logs[rank].extend([StepRecord(**(row | {"step": step, "end_ns": step})) for step in range(steps)])
    return logs


LOGS = uneven_logs(4, 412, {1: 15.0, 3: 6.0})


def told(question: Question) -> list[ToDashboard]:
    """Answer as a hub does."""
    ident = question.command_id
    taken = Answer(command_id=ident, accepted=True)
    if isinstance(question, LedgerQuery):
        return [taken, Done(command_id=ident, ok=True, comparisons=COMPARISONS)]
    if isinstance(question, SearchQuery):
        return [taken, Done(command_id=ident, ok=True, search=search_scenes.GOING_ON)]
    first, last = question.first_step, question.last_step
    if isinstance(question, RanksQuery):
        ranks = rank_map(LOGS, first, last, question.blocks, question.bands, question.measure)
        return [taken, Done(command_id=ident, ok=True, ranks=ranks)]
    if question.newest is not None:
        first, last = max(0, len(LOG) - question.newest), None
    steps = step_history(LOG, question.rank, first, last, question.blocks)
    laned = None if steps is None else with_lanes(steps, TRACK, READINGS)
    return [taken, Done(command_id=ident, ok=True, steps=laned)]


def told_of_one(question: Question) -> list[ToDashboard]:
    """Answer as the hub of a run with one rank does."""
    if not isinstance(question, RanksQuery):
        return told(question)
    last = question.last_step
    ranks = rank_map({0: LOG}, question.first_step, last, question.blocks, question.bands, question.measure)
    ident = question.command_id
    return [Answer(command_id=ident, accepted=True), Done(command_id=ident, ok=True, ranks=ranks)]


def _facts(threads: int) -> RankFacts:
    return RankFacts(
        backends=BackendFacts(cudnn_benchmark=False, matmul_allow_tf32=False, num_threads=threads),
        optimizers=[
            OptimizerFacts(
                kind="SGD", groups=1, tensors=62, parameters=11_689_512, lr=0.1, flags={"fused": None}
            )
        ],
        environment={"OMP_NUM_THREADS": "1"},
        allocator=AllocatorFacts(
            device="cuda:0",
            allocated_mib=2100.0,
            reserved_mib=2900.0,
            inactive_split_mib=None,
            peak_allocated_mib=2480.0,
            peak_reserved_mib=2900.0,
            alloc_retries=0,
            ooms=0,
        ),
        missing={"compile": "nothing was compiled so far", "parallel": "no process group in this process"},
    )


HOST: HostView = msgspec.structs.replace(
    scenes.HOST,
    gpu_note=None,
    pressure_cpu=Pressure(source="cgroup", some=0.34, full=0.0),
    missing={"throttled_share": "no CPU quota is to be seen"},
    workers_age_s=1.0,
    workers=[
        WorkerView(
            rank=0,
            pid=5000 + number,
            start_ticks=number,
            found_by="told",
            number=number,
            state="D" if number == 1 else "R",
            cpu_share=0.93,
            cpu_wait_share=0.04,
            io_wait_share=None,
            blocked_share=0.3 if number == 1 else 0.0,
            rss_mib=412.0,
            read_mib_s=31.0,
        )
        for number in range(2)
    ],
)


def pages() -> RunView:
    """Two ranks on GPUs that differ in a setting, with findings that hang together."""
    view = scenes.gpus(2)
    settings: dict[str, object] = {"loader.num_workers": 2, "loader.pin_memory": True}
    workers = LoaderWorkers(count=2, age_s=1.0, blocked=1, cpu_share=0.93, found_by="told")
    ranks = [
        msgspec.structs.replace(
            view.ranks[0],
            settings=settings,
            facts=_facts(1),
            workers=workers,
            device_ms=scenes.DEVICE,
            losses=[(400, 2.31), (410, 2.29)],
            phases_s={"training": 240.0, "starting": 9.0, "between": 3.0},
            settings_failed={"optimizer.fused": "SGD has no such argument here"},
        ),
        msgspec.structs.replace(
            view.ranks[1], settings={**settings, "loader.num_workers": 4}, facts=_facts(8)
        ),
    ]
    header = scenes.header(
        name="vit-imagenet", world_size=2, settings={"loader.num_workers": 2, "optimizer.fused": True}
    )
    return msgspec.structs.replace(
        view, header=header, ranks=ranks, hosts=[HOST], findings=[CAUSE, ADVICE, CONSEQUENCE]
    )
