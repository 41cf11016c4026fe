"""Windows that a check condemns: what is told then is what would be told without one."""

from dataclasses import replace
from pathlib import Path

import msgspec.structs
import pytest

from perftui.ipc.facts import BackendFacts, ModelFacts
from perftui.ipc.trace_report import CopyFigures, KernelFigures, OperatorFigures, RankReport, TrustCheck
from perftui.trainer.diagnosis import POLICY, RankSignals, judge
from perftui.trainer.diagnosis.pacing import pace_of
from perftui.trainer.profiling.rank_report import rank_report
from perftui.trainer.profiling.subject import prepare
from perftui.trainer.profiling.trace_reader import read_trace
from tests.profiling.trace_maker import TraceMaker

from .made import facts, found, gpu, gpu_rank, report, run


def failed(*suppresses: str) -> TrustCheck:
    return TrustCheck(name="x", passed=False, value=1.0, text="x", suppresses=list(suppresses))


LOST = failed("gpu", "idle", "compute.bound", "launch.bound", "sync.each_step", "launches", "queue")
"""As where records are lost: `lost_launches`, `truncated`, `graphs_on_rocm`."""


def condemned(made: RankReport, check: TrustCheck = LOST) -> RankSignals:
    return gpu_rank(report=msgspec.structs.replace(made, trust=[check]))


def rocm_with_graphs(path: Path) -> RankReport:
    """Return the window of a busy MI300 whose graphs' kernels were not recorded."""
    maker = TraceMaker(api="hip")
    for _ in range(3):
        maker.step()
        maker.compute(10_000)
        maker.launch(maker.now_ns, 20_000, "hipGraphLaunch")
        maker.now_ns += 990_000
    return rank_report(prepare(read_trace(maker.write(path / "t.json"))), 0, "t.json")


def test_a_window_that_lost_its_kernels_does_not_overrule_the_counter(tmp_path: Path) -> None:
    window = rocm_with_graphs(tmp_path)
    assert window.gpu is not None
    assert window.gpu.idle > 0.98
    busy = gpu(graphics_share=0.99)
    pace = pace_of(gpu_rank(report=window), busy, 0.0, POLICY)
    assert (pace.pacer, pace.confidence) == ("device", "likely")
    assert pace_of(gpu_rank(report=window), None, 0.0, POLICY).confidence == "open"
    finding = found(run(gpu_rank(report=window), gpus=(busy,)))["compute.bound"]
    assert finding.unsure is not None
    assert (finding.evidence[0].name, finding.evidence[0].value) == ("GPU with work", 0.99)


@pytest.mark.parametrize("idle", [0.02, 0.5, 0.95])
def test_a_condemned_window_is_as_good_as_none(idle: float) -> None:
    """Whatever it says of the GPU, and whatever the counter says."""
    for busy in (0.5, 0.8, 0.99):
        view = gpu(graphics_share=busy)
        with_it = judge(run(condemned(report(host=idle)), gpus=(view,)))
        without = judge(run(gpu_rank(), gpus=(view,)))
        assert with_it.findings == without.findings
        assert with_it.abstained == without.abstained


def test_an_idle_time_whose_reason_is_not_known_is_idle_still() -> None:
    unlinked = failed("idle", "launch.bound", "sync.each_step", "input.workers")
    pace = pace_of(condemned(report(host=0.5), unlinked), gpu(graphics_share=0.99), 0.0, POLICY)
    assert (pace.pacer, pace.confidence) == ("host", "measured")


def operators() -> list[OperatorFigures]:
    one = OperatorFigures(
        name="aten::cumsum",
        count=10,
        total_us=1.0,
        self_us=1.0,
        device_us=1.0,
        self_device_us=1.0,
        share=0.7,
        host_per_device=0.1,
    )
    return [one]


@pytest.mark.parametrize("check", [LOST, failed("compute.operator")])
def test_an_operator_of_a_window_that_is_not_believed(check: TrustCheck) -> None:
    made = report(operators=operators())
    busy = (gpu(graphics_share=0.99),)
    assert "compute.operator" in found(run(gpu_rank(report=made), gpus=busy))
    codes = found(run(condemned(made, check), gpus=busy))
    assert "compute.operator" not in codes
    assert not any("cumsum" in each.name for each in codes["compute.bound"].evidence)


@pytest.mark.parametrize(("mib", "code"), [(500.0, "transfer.pageable"), (0.5, "transfer.many_small")])
def test_copies_of_a_window_that_is_not_believed(mib: float, code: str) -> None:
    copies = CopyFigures(
        kind="HtoD (Pageable -> Device)",
        pageable=True,
        count=80,
        total_us=8000.0,
        mib=mib,
        gib_s=1.0,
        exposed_us=8000.0,
        per_step=40.0,
    )
    made = report(host=0.3, memcpy=[copies])
    assert code in found(run(gpu_rank(report=made), gpus=(gpu(graphics_share=0.5),)))
    assert code not in found(run(condemned(made), gpus=(gpu(graphics_share=0.5),)))
    # With the reason of idle time in doubt the copies' own time counts still.
    doubtful = found(run(condemned(made, failed("idle")), gpus=(gpu(graphics_share=0.5),)))
    assert doubtful[code].share == pytest.approx(0.4)


def test_kernels_of_a_window_that_is_not_believed() -> None:
    kernel = KernelFigures(
        name="ampere_sgemm_128x64_nn",
        kind="gemm",
        count=1,
        total_us=1.0,
        self_us=1.0,
        mean_us=1.0,
        max_us=1.0,
        share=0.9,
        tensor_cores=False,
    )
    model = ModelFacts(tensors=1, parameters=10, mib=1.0, dtypes={"float32": 10}, devices={"cuda:0": 10})
    exact = facts(backends=BackendFacts(matmul_fp32_precision="ieee"), model=model)
    made = replace(gpu_rank(report=report(kernels=[kernel])), facts=exact)
    busy = (gpu(graphics_share=0.99, tensor_active_share=0.6),)
    assert "compute.fp32" in found(run(made, gpus=busy))
    assert made.report is not None
    lost = replace(made, report=msgspec.structs.replace(made.report, trust=[LOST]))
    assert "compute.fp32" not in found(run(lost, gpus=busy))
