"""GPUs that idle while the host computes or runs Python; beside that waits and launches."""

from dataclasses import replace

import msgspec.structs
import pytest

from perftui.ipc.facts import ModelFacts, RankFacts, StackPlace
from perftui.ipc.findings import Finding
from perftui.ipc.host_work import HostWaits, HostWork
from perftui.ipc.trace_report import LaunchFigures, RankReport, SyncFigures
from perftui.trainer.diagnosis import RankSignals, judge
from perftui.trainer.diagnosis.policy import POLICY
from perftui.trainer.diagnosis.signals import StepPatterns

from .made import abstained, facts, found, gpu, gpu_rank, lead, report, run, shares, stacks

GRID = StackPlace(area="script", at="train.py:31 grid", line="volume[filled] -= mean", count=80)
UNFED = StepPatterns(run_steps=200, compiling_of=100, fifths_ms=(100.0,) * 5, wait_known=False)


def _launches(**changes: float) -> LaunchFigures:
    made = LaunchFigures(
        count=1000, graph_launches=0, driver_launches=0, per_step=500.0, call_us_total=8000.0,
        call_us_p50=8.0, call_us_max=90.0, device_us_p50=2.0, delay_us_p50=2.0, delay_us_p90=9.0,
        delay_us_max=50.0,
        short_share=0.9, slow_calls=0, long_delays=0,
    )  # fmt: skip
    return msgspec.structs.replace(made, **changes)


_WAIT = SyncFigures(
    call="cudaStreamSynchronize", operator="aten::_local_scalar_dense", where=None, count=2, per_step=1.0,
    total_us=3000.0, share=0.1, drained_us=900.0,
)  # fmt: skip


def _window(
    *, host: float, waits: float = 0.0, computing: float = 0.0, outside: float = 0.0, **more: object
) -> RankReport:
    """A window in which so much of the idle time is the host's; all of its own work begins behind no wait."""
    undrained = more.pop("undrained", computing + outside)
    assert isinstance(undrained, float)
    made = report(
        host=host, launches=_launches(), syncs=[_WAIT] if waits else [], step_ms_before=10.0,
        host_waits=HostWaits(in_calls=waits, in_operators=waits),
        host_work=HostWork(computing=computing, outside=outside, undrained=undrained),
    )  # fmt: skip
    return msgspec.structs.replace(made, **more)


def _codes(window: RankReport | None, **changes: object) -> dict[str, Finding]:
    made = replace(gpu_rank(report=window), **changes)  # type: ignore[arg-type]
    return found(run(made, gpus=(gpu(graphics_share=0.4),)))


def _preparing(looks: int = 100, **order: int) -> RankFacts:
    """Looks of which 80 found lines of the script's own, in this order around the model's call."""
    seen = stacks(looks, GRID, script=80, backward=looks - 80)
    return facts(stacks=msgspec.structs.replace(seen, waits_told=True, order=order or {"before": 80}))


def _unfed(window: RankReport | None, seen: RankFacts, **changes: object) -> RankSignals:
    """A rank without a loader, which spends most of its step in neither backward nor optimizer."""
    parts = msgspec.structs.replace(shares(), loader_wait=None, forward=None, other=0.85, backward=0.13)
    made = gpu_rank(report=window, facts=seen, loader=None, patterns=UNFED, shares=parts)
    return replace(made, **changes)  # type: ignore[arg-type]


# --- waits against launches ---


@pytest.mark.parametrize(
    ("waits", "host", "cost", "severity"),
    [
        (0.049, 0.5, None, None),
        (0.05, 0.5, 0.05, "warning"),
        (0.20, 0.5, 0.20, "critical"),
        (0.60, 0.5, 0.50, "critical"),  # no more than the GPU idles
        (0.0, 0.5, None, None),
    ],
)
def test_waits_cost_what_going_on_at_once_would_save(
    waits: float, host: float, cost: float | None, severity: str | None
) -> None:
    finding = _codes(_window(host=host, waits=waits)).get("sync.each_step")
    assert (None if finding is None else pytest.approx(finding.share)) == cost
    assert (finding and finding.severity) == severity


def test_many_waits_answer_for_the_launches_behind_them() -> None:
    """Little idle time begins in a wait: all the others are launches that the host had no time to queue."""
    codes = _codes(_window(host=0.27, waits=0.30, sync_drained_share=0.05))
    assert codes["sync.each_step"].share == pytest.approx(0.27)
    assert "launch.bound" not in codes


@pytest.mark.parametrize(("waits", "left"), [(0.10, 0.40), (0.30, 0.20), (0.31, None)])
def test_launches_are_left_what_waits_do_not_explain(waits: float, left: float | None) -> None:
    finding = _codes(_window(host=0.5, waits=waits)).get("launch.bound")
    assert (None if finding is None else pytest.approx(finding.share)) == left


def test_a_short_wait_is_not_blamed_for_computing_behind_it() -> None:
    """An optimizer on the CPU: one short wait a step, and then 0.6 of the step in operators there."""
    window = _window(host=0.87, waits=0.012, computing=0.6, undrained=0.0, sync_drained_share=0.77)
    assert {"sync.each_step", "launch.bound"}.isdisjoint(_codes(window))
    before = msgspec.structs.replace(window, host_waits=None, host_work=None)
    assert "sync.each_step" in _codes(before), "a window of an older perftui tells no more"


@pytest.mark.parametrize(("step_ms_before", "cost"), [(10.0, 0.10), (9.6, 0.10), (9.5, 0.30), (None, 0.10)])
def test_looks_tell_waits_that_the_profiler_has_shortened(step_ms_before: float | None, cost: float) -> None:
    """The window's steps take 10 ms."""
    seen = facts(stacks=msgspec.structs.replace(stacks(100, device=30, model=70), waits_told=True))
    window = _window(host=0.4, waits=0.10, step_ms_before=step_ms_before)
    assert _codes(window, facts=seen)["sync.each_step"].share == pytest.approx(cost)


def test_short_gaps_between_queued_kernels_are_no_waits() -> None:
    window = _window(host=0.1, waits=0.4)
    idle = msgspec.structs.replace(window.idle, launch_latency=0.2)  # type: ignore[type-var]
    gaps = msgspec.structs.replace(window.gpu, compute_only=0.7, idle=0.3)  # type: ignore[type-var]
    window = msgspec.structs.replace(window, idle=idle, gpu=gaps, queued_gap_share=0.15)
    assert _codes(window)["sync.each_step"].share == pytest.approx(0.15)


# --- launches against the host's own work ---


@pytest.mark.parametrize(
    ("outside", "computing", "left"),
    [(0.3, 0.0, 0.2), (0.31, 0.0, None), (0.1, 0.19, 0.21), (0.2, 0.11, None)],
)
def test_launches_are_left_what_the_hosts_own_work_does_not_explain(
    outside: float, computing: float, left: float | None
) -> None:
    finding = _codes(_window(host=0.5, outside=outside, computing=computing)).get("launch.bound")
    assert (None if finding is None else pytest.approx(finding.share)) == left


@pytest.mark.parametrize(("outside", "code"), [(0.25, "input.inline"), (0.24, None), (0.6, "input.inline")])
def test_preparing_beside_an_idle_gpu(outside: float, code: str | None) -> None:
    """No loader, and looks find the lines before the model's call: they cost what the GPU idles meanwhile."""
    signals = run(_unfed(_window(host=0.65, outside=outside), _preparing()), gpus=(gpu(graphics_share=0.3),))
    finding = found(signals).get("input.inline")
    assert (finding and finding.code) == code
    if finding is not None:
        assert finding.share == pytest.approx(min(outside, 0.8))
        assert finding.unsure is None
        assert "train.py:31 grid" in finding.sentence


def test_preparing_that_leads_and_is_measured() -> None:
    signals = run(_unfed(_window(host=0.97, outside=0.94), _preparing()), gpus=(gpu(graphics_share=0.01),))
    assert (lead(signals).code, lead(signals).severity) == ("input.inline", "critical")
    assert "launch.bound" not in found(signals)


def test_preparing_without_a_window() -> None:
    """By looks and the GPU's counters: then the GPU may idle for something else, and that is said."""
    signals = run(_unfed(None, _preparing(), cpu_share=1.0), gpus=(gpu(graphics_share=0.1),))
    finding = lead(signals)
    assert (finding.code, finding.severity) == ("input.inline", "warning")
    assert finding.share == pytest.approx(0.8)
    assert finding.unsure is not None
    assert "launch.bound" not in found(signals)


def test_work_past_the_models_call_is_python() -> None:
    seen = _preparing(after=80)
    codes = found(run(_unfed(_window(host=0.7, outside=0.65), seen), gpus=(gpu(graphics_share=0.3),)))
    assert codes["cpu.python"].share == pytest.approx(0.65)
    assert {"input.inline", "launch.bound"}.isdisjoint(codes)


@pytest.mark.parametrize("busy", [0.98, 0.9])
def test_preparing_beside_a_busy_gpu_costs_nothing(busy: float) -> None:
    window = _window(host=1 - busy, outside=1 - busy)
    judgement = judge(run(_unfed(window, _preparing()), gpus=(gpu(graphics_share=busy),)))
    assert {each.code for each in judgement.findings}.isdisjoint({"input.inline", "cpu.python"})
    assert "input.inline" not in abstained(judgement)


def test_without_looks_or_figures_it_abstains() -> None:
    unseen = _unfed(_window(host=0.7, outside=0.65), facts())
    assert "input.inline" in abstained(judge(run(unseen, gpus=(gpu(graphics_share=0.3),))))
    unread = _unfed(None, _preparing())
    assert "input.inline" in abstained(judge(run(unread)))
    between = judge(run(unread, gpus=(gpu(graphics_share=0.7),)))  # who waits for whom is not known
    assert "input.inline" in abstained(between)
    assert "input.inline" not in {each.code for each in between.findings}


# --- where no other finding names it ---


@pytest.mark.parametrize(("outside", "severity"), [(0.31, None), (0.33, "warning"), (0.9, "critical")])
def test_work_within_the_model_is_named_by_its_line(outside: float, severity: str | None) -> None:
    """Numpy in a forward; the optimizer takes 0.07 of the step."""
    place = StackPlace(area="model", at="train.py:12 Matcher.forward", line="assign(cost)", count=60)
    seen = facts(stacks=stacks(100, place, model=60, backward=40))
    finding = _codes(_window(host=0.95, outside=outside), facts=seen).get("cpu.python")
    assert (finding and finding.severity) == severity
    if finding is not None:
        assert finding.share == pytest.approx(outside - 0.07)
        assert "train.py:12 Matcher.forward" in finding.sentence
        assert "in no operator" in finding.sentence


def test_computing_on_the_cpu_is_told_from_python() -> None:
    finding = _codes(_window(host=0.8, computing=0.7))["cpu.python"]
    assert "computes on the CPU" in finding.sentence
    assert finding.unsure is not None, "no looks: the line is not known"


def test_a_window_with_something_rare_in_it_proves_nothing() -> None:
    """A checkpoint within its steps makes them longer than those before."""
    window = _window(host=0.8, outside=0.7, step_ms_before=8.3)
    assert "cpu.python" not in _codes(window)
    assert "cpu.python" not in _codes(msgspec.structs.replace(window, step_ms_before=None))
    assert "cpu.python" in _codes(msgspec.structs.replace(window, step_ms_before=8.4))


def _on_both(part: float) -> ModelFacts:
    on_cpu = round(1000 * part)
    return ModelFacts(
        parameters=1000, tensors=10, mib=1.0, dtypes={}, devices={"cpu": on_cpu, "cuda:0": 1000 - on_cpu}
    )


def test_a_part_of_the_model_on_the_cpu_is_its_own_finding() -> None:
    window = _window(host=0.95, computing=0.8)
    codes = _codes(window, facts=facts(model=_on_both(0.8)))
    assert codes["compute.device"].share == pytest.approx(0.8)
    assert codes["compute.device"].unsure is None
    assert "the batch goes to and fro" in codes["compute.device"].sentence
    assert {"cpu.python", "launch.bound", "sync.each_step"}.isdisjoint(codes)
    unmeasured = _codes(None, facts=facts(model=_on_both(0.8)))["compute.device"]
    assert (unmeasured.share, unmeasured.unsure is None) == (0.0, False)


def test_an_optimizer_on_the_cpu() -> None:
    window = _window(host=0.9, computing=0.6)
    parts = shares(optimizer=0.85, forward=0.04)
    codes = _codes(window, facts=facts(model=_on_both(0.5)), shares=parts)
    assert codes["compute.optimizer"].share == pytest.approx(0.85)
    assert "computes on the CPU" in codes["compute.optimizer"].sentence
    assert codes["compute.optimizer"].remedy is not None
    assert "on the GPU" in (codes["compute.optimizer"].remedy.advice or "")
    assert "the optimizer computes there" in codes["compute.device"].sentence
    assert "cpu.python" not in codes


def test_thresholds_are_those_that_these_tests_stand_at() -> None:
    assert (POLICY.sync_share, POLICY.sync_critical, POLICY.launch_idle) == (0.05, 0.20, 0.20)
    assert (POLICY.inline_share, POLICY.in_loop_python) == (0.25, 0.25)
