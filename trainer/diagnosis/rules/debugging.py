"""`debug.*`: switches that help to find mistakes and slow everything down, left on.

They are known from the first step on, however long that takes.
"""

from collections.abc import Iterator

from perftui.ipc.findings import Finding, Remedy, Severity
from perftui.ipc.settings import Settings
from perftui.trainer.diagnosis.case import Case
from perftui.trainer.diagnosis.evidence import number, offered, percent
from perftui.trainer.diagnosis.readiness import Abstention
from perftui.trainer.diagnosis.signals import RankSignals

_OFF = frozenset({"", "0", "false", "off", "no"})
_HALF = 0.5


def anomaly(case: Case) -> Iterator[Finding | Abstention]:
    """Judge anomaly detection of autograd."""
    ranks = [r for r in case.signals.ranks if r.facts.backends is not None and r.facts.backends.anomaly]
    if ranks:
        nan = any(r.facts.backends is not None and r.facts.backends.anomaly_check_nan for r in ranks)
        yield _left_on(
            case,
            ranks,
            "debug.anomaly",
            "Autograd's anomaly detection is on: every operator of the forward keeps its stack"
            f"{' and every gradient is searched for NaN' if nan else ''}.",
            "remove torch.autograd.set_detect_anomaly(True), or detect_anomaly(), once the mistake is found "
            "(Trainer(detect_anomaly=False) in Lightning)",
            {"debug.anomaly": False},
        )


def launch_blocking(case: Case) -> Iterator[Finding | Abstention]:
    """Judge switches that make the host wait for every launch, or every collective."""
    on_gpu = [rank for rank in case.signals.ranks if rank.device.startswith("cuda")]
    for name, what in (
        ("CUDA_LAUNCH_BLOCKING", "the host waits for every kernel before it launches the next"),
        ("TORCH_NCCL_BLOCKING_WAIT", "the host waits for every collective"),
        ("NCCL_BLOCKING_WAIT", "the host waits for every collective"),
    ):
        ranks = [rank for rank in on_gpu if _is_on(rank, name)]
        if "NCCL" in name:
            ranks = [rank for rank in ranks if rank.world_size > 1]
        if ranks:
            advice = f"unset {name} (a shell profile, the job's script, or os.environ in the training script)"
            wanted: Settings = {"debug.launch_blocking": False} if name.startswith("CUDA") else {}
            yield _left_on(case, ranks, "debug.launch_blocking", f"{name} is set: {what}.", advice, wanted)
            return


def detail(case: Case) -> Iterator[Finding | Abstention]:
    """Judge checks that distributed training makes only for debugging."""
    ranks = [
        rank
        for rank in case.signals.ranks
        if rank.world_size > 1 and _value(rank, "TORCH_DISTRIBUTED_DEBUG").upper() == "DETAIL"
    ]
    if ranks:
        yield _left_on(
            case,
            ranks,
            "debug.detail",
            "TORCH_DISTRIBUTED_DEBUG=DETAIL: every collective is first compared over all ranks.",
            "unset TORCH_DISTRIBUTED_DEBUG, or set it to OFF",
        )


def profiler_left_on(case: Case) -> Iterator[Finding | Abstention]:
    """Judge a profiler, a debugger or a coverage tool that runs along."""
    traced = [rank for rank in case.signals.ranks if _tracer(case, rank)]
    if traced:
        tool = _tracer(case, traced[0])
        yield _left_on(
            case,
            traced,
            "debug.profiler_left_on",
            f"Python code is watched call by call or line by line ({tool}): a debugger, a profiler or a "
            "coverage tool is attached.",
            "start the training without the debugger, or without sys.settrace and sys.setprofile",
        )
        return
    ranks = [r for r in case.signals.ranks if r.facts.backends is not None and r.facts.backends.profiler]
    if ranks:
        yield _left_on(
            case,
            ranks,
            "debug.profiler_left_on",
            "A profiler of torch records all the time: it costs with every operator, and keeps what it "
            "records.",
            "profile a few steps with a schedule, or stop the profiler; perftui's own windows need no code",
        )


def _tracer(case: Case, rank: RankSignals) -> str | None:
    """Return what watches the Python code of a rank, by its own word or by looks at its stack."""
    backends, stacks = rank.facts.backends, rank.facts.stacks
    if backends is not None and backends.tracer:
        return backends.tracer
    if stacks is None or stacks.looks < case.policy.stack_looks or not stacks.traced:
        return None
    tool, looks = max(stacks.traced.items(), key=lambda item: item[1])
    return tool if looks >= case.policy.traced_share * stacks.looks else None


def _left_on(
    case: Case,
    ranks: list[RankSignals],
    code: str,
    sentence: str,
    advice: str,
    wanted: Settings | None = None,
) -> Finding:
    """Return the finding. What it costs was not measured: its weight is what it slows."""
    worst = max(ranks, key=_slowed)
    slowed = _slowed(worst)
    whole = len(ranks) == len(case.signals.ranks)
    severity: Severity = "critical" if slowed >= _HALF else "warning" if slowed >= 0.1 else "info"
    if not case.paced_by(worst, "model", "host", "device", "communication"):
        severity = "info"
    return Finding(
        code=code,
        severity=severity,
        share=0.0,
        rank=None if whole else worst.rank,
        host=None if whole else worst.host,
        sentence=sentence,
        evidence=[
            number("ranks with it", len(ranks), ""),
            number("part of the step that it slows", slowed, "share", worst.window_steps),
        ],
        remedy=Remedy(set=offered(worst, wanted or {}), advice=advice),
        unsure=None
        if severity == "critical"
        else f"it slows {percent(slowed)} of the step; by how much only a run without it tells",
    )


def _slowed(rank: RankSignals) -> float:
    shares = rank.shares
    if shares.loader_wait is None:
        return 1.0
    return max(0.0, min(1.0, 1.0 - shares.loader_wait))


def _value(rank: RankSignals, name: str) -> str:
    return (rank.facts.environment or {}).get(name, "")


def _is_on(rank: RankSignals, name: str) -> bool:
    return _value(rank, name).lower() not in _OFF
