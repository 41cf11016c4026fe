"""torch.compile, debugging switches and the state of GPUs: each rule at its thresholds."""

from dataclasses import replace

import msgspec.structs
import pytest

from perftui.ipc.facts import (
    CompileFacts,
    GraphBreak,
    PhaseFacts,
    Recompiled,
)
from perftui.ipc.trace_report import OperatorFigures, RankReport
from perftui.ipc.view import GpuProcess, Shares
from perftui.trainer.diagnosis import judge
from perftui.trainer.diagnosis.signals import RankSignals, StepPatterns

from .made import (
    backends,
    change,
    copying,
    facts,
    found,
    gpu,
    gpu_rank,
    lead,
    loader,
    rank,
    report,
    run,
    shares,
    stacks,
    workers,
)


def _compiled(**changes: object) -> CompileFacts:
    made = CompileFacts(frames=3, graphs=3, recompiles=0, graph_breaks=0, limit_hits=0, compile_s=4.0)
    return msgspec.structs.replace(made, **changes)


_COMPILED_ONCE = StepPatterns(run_steps=2000, compiling=0, compiling_of=200)


def test_recompiling() -> None:
    again = Recompiled(function="forward", at="net.py:9", count=5, reason="size mismatch at index 0")
    books = facts(compile=_compiled(recompiles=9, recompiled=[again]))
    going_on = StepPatterns(run_steps=2000, compiling=9, compiling_of=200)
    grown = change(recompiles=9, compile_s=12.0)
    finding = lead(run(rank(facts=books, change=grown, patterns=going_on)))
    assert (finding.code, finding.severity, finding.share) == ("compile.recompiles", "critical", 0.2)
    assert "size mismatch" in finding.sentence
    assert finding.remedy is not None
    assert finding.remedy.at == "net.py:9"
    done = rank(facts=books, change=change(recompiles=0, compile_s=0.0), patterns=_COMPILED_ONCE)
    assert "compile.recompiles" not in found(run(done))
    limit = rank(
        facts=facts(compile=_compiled(recompiles=8, limit_hits=1)), change=change(), patterns=_COMPILED_ONCE
    )
    assert "uncompiled" in found(run(limit))["compile.recompiles"].sentence


@pytest.mark.parametrize(("breaks", "severity"), [(0, None), (1, "info"), (3, "info"), (4, "warning")])
def test_graph_breaks(breaks: int, severity: str | None) -> None:
    place = GraphBreak(reason="call to print", at="net.py:14")
    books = facts(compile=_compiled(graph_breaks=breaks, breaks=[place] if breaks else []))
    finding = found(run(rank(facts=books, patterns=_COMPILED_ONCE))).get("compile.graph_breaks")
    assert (finding and finding.severity) == severity


def test_functions_that_torch_gave_up() -> None:
    place = GraphBreak(reason="graph break in a loop", at="forward (net.py:4)")
    books = facts(compile=_compiled(graphs=0, failures=1, uncompiled=[place]))
    finding = lead(run(rank(facts=books, patterns=_COMPILED_ONCE)))
    assert (finding.code, finding.severity) == ("compile.graph_breaks", "warning")
    assert "left 1 function uncompiled: graph break in a loop" in finding.sentence
    assert finding.remedy is not None
    assert finding.remedy.at == "forward (net.py:4)"


def test_compiling_that_goes_on_or_does_not_pay_back() -> None:
    books = facts(compile=_compiled(compile_s=40.0))
    early = StepPatterns(run_steps=60, compiling=10, compiling_of=50, compiling_share=0.7)
    assert lead(run(rank(facts=books, patterns=early))).code == "compile.warming_up"
    young = StepPatterns(run_steps=150, compiling=0, compiling_of=140)
    assert lead(run(rank(facts=books, patterns=young))).code == "compute.bound", "it has only begun"
    assert lead(run(rank(facts=books, patterns=_COMPILED_ONCE))).code == "compute.bound"


@pytest.mark.parametrize(
    ("step_ms", "steps", "seen"), [(4.9, 8000, True), (5.0, 7000, False), (4.0, 10_000, False)]
)
def test_compiling_that_pays_back_late(step_ms: float, steps: int, seen: bool) -> None:
    """40 s are as long as 8,163 steps of 4.9 ms, or 10,000 of 4 ms."""
    books = facts(compile=_compiled(compile_s=40.0))
    patterns = StepPatterns(run_steps=steps, compiling=0, compiling_of=200)
    finding = found(run(rank(step_ms=step_ms, facts=books, patterns=patterns))).get("compile.not_worth")
    assert (finding is not None) is seen
    if finding is not None:
        assert (finding.severity, finding.unsure is None) == ("info", False)
        assert "8,163 steps" in finding.sentence


def _called(around_us: float, graphs_us: float, calls: int = 80) -> RankReport:
    """Two steps, 20 ms in all."""

    def mark(name: str, self_us: float, total_us: float, count: int) -> OperatorFigures:
        return OperatorFigures(
            name=name,
            count=count,
            total_us=total_us,
            self_us=self_us,
            device_us=None,
            self_device_us=None,
            share=self_us / 20_000,
            host_per_device=None,
        )

    return report(
        gpu=None,
        idle=None,
        operators=[
            mark("Torch-Compiled Region: 0/1", around_us / 2, around_us + graphs_us, calls),
            mark("AOTDispatcher Runtime Wrapper Prologue", around_us / 2, around_us / 2, calls),
            mark("## Call CompiledFxGraph fab ##", graphs_us, graphs_us, calls),
        ],
    )


def test_functions_that_are_too_small_to_be_compiled() -> None:
    def made(window: RankReport, **changes: object) -> RankSignals:
        told = facts(compile=_compiled(compile_s=4.0, **changes))
        return rank(step_ms=10.0, facts=told, patterns=_COMPILED_ONCE, report=window)

    finding = lead(run(made(_called(6_000, 500))))
    assert (finding.code, finding.severity, finding.share) == ("compile.not_worth", "warning", 0.3)
    assert "40 calls a step" in finding.sentence
    assert "compile.not_worth" not in found(run(made(_called(5_900, 500))))
    assert "compile.not_worth" not in found(run(made(_called(6_000, 6_000)))), "it computes as long"
    cut = [GraphBreak(reason="call to print", at="net.py:14")]
    pieces = found(run(made(_called(6_000, 500), graph_breaks=1, breaks=cut)))
    assert (pieces["compile.graph_breaks"].severity, pieces["compile.graph_breaks"].share) == ("warning", 0.3)
    assert pieces["compile.not_worth"].under == "compile.graph_breaks"
    few = found(run(made(_called(1_000, 9_000, calls=6), graph_breaks=1, breaks=cut)))
    assert few["compile.graph_breaks"].severity == "info"
    on_gpu = gpu_rank(facts=facts(compile=_compiled()), patterns=_COMPILED_ONCE, report=_called(9_000, 500))
    assert "compile.not_worth" not in found(run(on_gpu, gpus=(gpu(),)))


def test_a_run_that_compiles_before_its_first_step() -> None:
    compiling = PhaseFacts(
        phase="compiling", since_ns=1, at_ns=2, began_ns=0, newest_ns=2, seconds={"compiling": 31.0}
    )
    first = rank(facts=facts(phases=compiling), window_steps=0, shares=Shares(), patterns=StepPatterns())
    findings = judge(run(first)).findings
    assert [each.code for each in findings] == ["compile.warming_up"]
    assert "31 s and no step is over" in findings[0].sentence
    starting = msgspec.structs.replace(compiling, phase="starting")
    assert not judge(run(replace(first, facts=facts(phases=starting)))).findings


def test_cuda_graphs_that_were_skipped() -> None:
    books = facts(compile=_compiled(cudagraph_skips=3, skip_reasons=["mutated inputs"]))
    made = gpu_rank(facts=books, patterns=_COMPILED_ONCE, cpu_share=0.95)
    waiting = gpu(graphics_share=0.4)
    assert "mutated inputs" in found(run(made, gpus=(waiting,)))["compile.cudagraph_skips"].sentence
    assert "compile.cudagraph_skips" not in found(run(made, gpus=(gpu(),)))


# --- debug ---


def test_anomaly_detection_weighs_as_much_as_what_it_slows() -> None:
    on = backends(anomaly=True, anomaly_check_nan=True)
    assert (lead(run(rank(facts=on))).code, lead(run(rank(facts=on))).severity) == (
        "debug.anomaly",
        "critical",
    )
    starved = rank(shares=shares(wait=0.7, forward=0.1), facts=on)
    assert [f.code for f in judge(run(starved)).findings][:2] == ["input.workers", "debug.anomaly"]
    paced = replace(starved, loader=loader(num_workers=2), workers=workers(2, cpu_share=0.9))
    assert found(run(paced))["debug.anomaly"].severity == "info"
    assert "debug.anomaly" not in found(run(rank(facts=backends(anomaly=None))))


def test_switches_are_known_before_steps_count() -> None:
    on = rank(facts=backends(anomaly=True), window_steps=0, shares=Shares())
    assert lead(run(on)).code == "debug.anomaly"


def test_blocking_launches_matter_on_a_gpu() -> None:
    on = facts(environment={"CUDA_LAUNCH_BLOCKING": "1"})
    assert found(run(gpu_rank(facts=on), gpus=(gpu(),)))["debug.launch_blocking"].severity == "critical"
    assert "debug.launch_blocking" not in found(run(rank(facts=on)))
    off = facts(environment={"CUDA_LAUNCH_BLOCKING": "0"})
    assert "debug.launch_blocking" not in found(run(gpu_rank(facts=off), gpus=(gpu(),)))


def test_checks_of_distributed_training_matter_on_several_ranks() -> None:
    on = facts(environment={"TORCH_DISTRIBUTED_DEBUG": "detail"})
    pair = [rank(number, facts=on, world_size=2) for number in range(2)]
    assert "debug.detail" in found(run(*pair))
    assert "debug.detail" not in found(run(rank(facts=on)))


def test_a_profiler_of_python_is_seen_on_the_stack() -> None:
    looked = msgspec.structs.replace(stacks(100, model=100), traced={"cProfile": 50})
    finding = lead(run(rank(facts=facts(stacks=looked))))
    assert finding.code == "debug.profiler_left_on"
    assert "cProfile" in finding.sentence
    fewer = msgspec.structs.replace(looked, traced={"cProfile": 49})
    assert lead(run(rank(facts=facts(stacks=fewer)))).code == "compute.bound"


def test_profilers_and_debuggers() -> None:
    assert lead(run(rank(facts=backends(profiler=True)))).code == "debug.profiler_left_on"
    traced = lead(run(rank(facts=backends(tracer="pydevd"))))
    assert "pydevd" in traced.sentence
    assert lead(run(rank(facts=backends(profiler=False, tracer=None)))).code == "compute.bound"


# --- gpu ---


@pytest.mark.parametrize(
    ("held", "severity"), [(0.04, None), (0.05, "warning"), (0.24, "warning"), (0.25, "critical")]
)
def test_heat(held: float, severity: str | None) -> None:
    hot = gpu(throttled_share={"thermal_sw": held}, temperature_c=88.0)
    finding = found(run(gpu_rank(), gpus=(hot,))).get("gpu.throttled")
    assert (finding and finding.severity) == severity


def test_what_a_gpu_that_waits_is_not_blamed_for() -> None:
    hot = gpu(throttled_share={"thermal_hw": 0.9, "power_cap": 0.9}, graphics_share=0.3)
    codes = found(run(gpu_rank(cpu_share=0.95), gpus=(hot,)))
    assert {"gpu.throttled", "gpu.power_capped"}.isdisjoint(codes)


def test_guests_on_a_gpu() -> None:
    guest = GpuProcess(pid=77, name="python", memory_mib=4000.0)
    assert (
        found(run(gpu_rank(), gpus=(gpu(foreign_processes=[guest]),)))["gpu.foreign_process"].severity
        == "warning"
    )
    desktop = GpuProcess(pid=78, name="Xorg", memory_mib=200.0)
    assert "gpu.foreign_process" not in found(run(gpu_rank(), gpus=(gpu(foreign_processes=[desktop]),)))
    assert "gpu.foreign_process" not in found(run(gpu_rank(), gpus=(gpu(foreign_processes=None),)))


def test_a_link_below_its_best_under_load_only() -> None:
    low = gpu(pcie_generation=2, pcie_generation_max=5, pcie_width=16, pcie_width_max=16)
    assert found(run(gpu_rank(), gpus=(low,)))["gpu.link"].severity == "info"
    felt = gpu_rank(device_ms=copying(20.0), loader=loader(pin_memory=True))
    assert found(run(felt, gpus=(low,)))["gpu.link"].severity == "warning"
    at_rest = msgspec.structs.replace(low, graphics_share=0.1)
    assert "gpu.link" not in found(run(gpu_rank(), gpus=(at_rest,)))
