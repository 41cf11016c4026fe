"""A report with something in every part, of a run whose strings mean harm."""

from perftui.ipc.findings import Evidence, Finding, Remedy, Unjudged
from perftui.ipc.ledger_records import Comparison, Verdict
from perftui.ipc.summary import Overhead, RankSummary, Summary
from perftui.ipc.trace_report import RankReport, TraceReport, TrustCheck
from perftui.ipc.view import GpuView, HostView, OperatorRow, ProfileRank, ProfileView, Shares, StepStats
from perftui.trainer.reporting.run_report import RunReport
from tests.made_ledger import made_comparison, made_launch

HOSTILE = "<script>alert(1)</script> | a **bold** [link](http://x.example) `tick`\x1b[31m\u202e"
KEY = "s3cr3t-of-mine-0123"


def rank(number: int, **changes: object) -> RankSummary:
    values: dict[str, object] = {
        "rank": number,
        "host": "vm",
        "device": "cuda:0",
        "gpu_uuid": "GPU-1",
        "steps": 120,
        "step_ms": StepStats(mean=200.5, p50=190.0, p90=250.0, p99=300.0),
        "steps_per_s": 5.0,
        "samples_per_s": 40.0,
        "boundary": "optimizer",
        "loss": 1.25,
        "shares": Shares(loader_wait=0.75, forward=0.1, backward=0.14, optimizer=0.005, other=0.005),
        "window_steps": 100,
        "settings": {"loader.num_workers": number, "loader.prefetch_factor": None},
        "settings_failed": {"compile.mode": HOSTILE},
        "python": "3.12.1",
        "torch": "2.14.1",
        "dropped": 3,
    }
    return RankSummary(**{**values, **changes})  # type: ignore[arg-type]


def summary(**changes: object) -> Summary:
    values: dict[str, object] = {
        "run_id": "train-1",
        "name": HOSTILE,
        "command": ["python", "train.py", "--name", HOSTILE, "--api-key", KEY],
        "state": "finished",
        "exit_code": 0,
        "stopped_by": None,
        "elapsed_s": 3725.0,
        "settings": {"loader.num_workers": 0},
        "ranks": [rank(0), rank(1)],
        "gpus": [GpuView(uuid="GPU-1", host="vm", ranks=[0, 1], age_s=0.1, name="H200", power_w=512.4)],
        "host": HostView(name="vm", age_s=0.0, cpus=2.0, memory_total_mib=2048.0),
        "host_mean": HostView(name="vm", age_s=0.0, run_busy=1.5, others_busy=0.1),
        "findings": [
            Finding(
                code="input.workers",
                severity="critical",
                share=0.75,
                sentence=f"The training waits {HOSTILE}",
                evidence=[Evidence(name="loader wait", value=0.75, unit="share", window_steps=100)],
                remedy=Remedy(
                    set={"loader.num_workers": 4}, bound=4.0, expected=2.5, caution="epochs are short"
                ),
                unsure="a profile window",
            )
        ],
        "unjudged": [Unjudged(code="comm.fabric", reason="no window", settled_by="perftui profile")],
        "profiles": [
            ProfileView(
                window_id="w1",
                state="done",
                start_step=10,
                steps=3,
                requested_unix=1.0,
                sentence="79 % went into the loader",
                window_notes=["rank 1 took no part"],
                ranks=[
                    ProfileRank(
                        rank=0,
                        state="done",
                        operators=[
                            OperatorRow(
                                name=f"op{at}",
                                count=2,
                                self_cpu_us=1500.0,
                                cpu_us=2000.0,
                                self_device_us=None,
                                device_us=None,
                                share=0.5,
                            )
                            for at in range(12)
                        ],
                    )
                ],
            )
        ],
        "overhead": Overhead(us_per_step=31.0, share=0.0002),
        "started_unix": 1_700_000_000.0,
        "perftui": "0.1.0",
        "message": f"it failed: token {KEY} was refused",
    }
    return Summary(**{**values, **changes})  # type: ignore[arg-type]


def comparison(ident: str, unix: float, parent: str | None, successor: str | None, *runs: str) -> Comparison:
    return made_comparison(
        ident,
        *(made_launch(run_id=run, outcome="finished") for run in runs),
        unix=unix,
        name="train",
        host="vm",
        command=["python", "train.py", f"--api-key={KEY}"],
        before={"loader.num_workers": 0},
        set={"loader.num_workers": 4},
        verdict=Verdict(
            verdict="faster", sentence="1.84 times as fast", gain=0.84, lo=0.71, hi=0.98, launches=2
        ),
        commit="0123456789abcdef0123",
        dirty=True,
        parent=parent,
        successor=successor,
    )


def report(**changes: object) -> RunReport:
    failed = TrustCheck(name="gaps", passed=False, value=0.5, text="the profiler doubled the step")
    values: dict[str, object] = {
        "made_unix": 1_700_010_000.0,
        "made_by": "perftui 0.1.0",
        "summary": summary(),
        "commit": "f" * 40,
        "ledger": [comparison("c1", 1_700_000_500.0, "train-0", "train-1")],
        "windows": {"w1": TraceReport(ranks=[RankReport(rank=0, path="t.json", trust=[failed])])},
    }
    return RunReport(**{**values, **changes})  # type: ignore[arg-type]
