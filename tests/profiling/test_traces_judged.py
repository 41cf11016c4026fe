"""Made traces of a GPU that idles for one known reason, judged: which of the findings leads."""

from dataclasses import replace

import msgspec.structs
import pytest

from perftui.ipc.facts import ModelFacts, RankFacts, StackPlace
from perftui.ipc.findings import Finding
from perftui.ipc.view import Shares
from perftui.trainer.diagnosis.signals import StepPatterns
from tests.diagnosis.made import facts, gpu, gpu_rank, lead, run, stacks
from tests.profiling.conftest import Reporter
from tests.profiling.trace_maker import TraceMaker

MS = 1_000_000
UNFED = StepPatterns(run_steps=200, compiling_of=100, fifths_ms=(100.0,) * 5, wait_known=False)
WITHIN = facts(stacks=stacks(100, model=60, backward=40))


def _step(maker: TraceMaker) -> None:
    """Compute for 5 ms in 500 kernels, each launched long before."""
    maker.step()
    maker.add("cpu_op", "aten::mm", maker.now_ns, 2000)
    for _ in range(500):
        maker.compute(10_000)


def _wait(maker: TraceMaker, ns: int) -> None:
    maker.add("cpu_op", "aten::item", maker.now_ns - ns, ns)
    maker.add("cuda_runtime", "cudaStreamSynchronize", maker.now_ns - ns, ns)


def _judged(reported: Reporter, maker: TraceMaker, seen: RankFacts, optimizer: float = 0.02) -> Finding:
    """Return what leads for a rank without a loader, of which the window shows usual steps."""
    made = reported(maker)
    mean_ms = sum(each.duration_us for each in made.steps) / len(made.steps) / 1000
    window = msgspec.structs.replace(made, step_ms_before=mean_ms)
    idle = 0.0 if made.gpu is None else made.gpu.idle
    parts = Shares(backward=0.1, optimizer=optimizer, other=0.9 - optimizer)
    rank = replace(gpu_rank(), report=window, facts=seen, loader=None, patterns=UNFED, shares=parts)
    return lead(run(rank, gpus=(gpu(graphics_share=1 - idle),)))


def test_a_trace_of_numpy_before_the_model(reported: Reporter) -> None:
    maker = TraceMaker()
    for _ in range(3):
        _step(maker)
        maker.add("cpu_op", "aten::empty", maker.now_ns - 1000, 1000)
        maker.idle(host_other=20 * MS)
    place = StackPlace(area="script", at="train.py:31 grid", line="volume[filled] -= mean", count=80)
    looked = stacks(100, place, script=80, backward=20)
    seen = facts(stacks=msgspec.structs.replace(looked, waits_told=True, order={"before": 80}))
    finding = _judged(reported, maker, seen)
    assert finding.code == "input.inline"
    assert finding.share == pytest.approx(0.8, abs=0.01)


def test_a_trace_of_an_optimizer_on_the_cpu(reported: Reporter) -> None:
    maker = TraceMaker()
    for _ in range(3):
        _step(maker)
        _wait(maker, 200_000)
        for place in range(40):
            maker.add("cpu_op", "aten::addcdiv_", maker.now_ns + place * MS // 2, MS // 2 - 20_000)
        maker.idle(host_other=20 * MS)
    seen = facts(stacks=stacks(100, optimizer=80, backward=20))
    finding = _judged(reported, maker, seen, optimizer=0.8)
    assert finding.code == "compute.optimizer"


def test_a_trace_of_half_a_model_on_the_cpu(reported: Reporter) -> None:
    maker = TraceMaker()
    for _ in range(3):
        _step(maker)
        _wait(maker, 100_000)
        maker.add("cpu_op", "aten::addmm", maker.now_ns, 10 * MS)
        maker.idle(host_other=10 * MS)
    parts = {"cpu": 800, "cuda:0": 200}
    model = ModelFacts(parameters=1000, tensors=10, mib=1.0, dtypes={}, devices=parts)
    seen = msgspec.structs.replace(WITHIN, model=model)
    assert _judged(reported, maker, seen).code == "compute.device"


def test_a_trace_of_a_wait_that_keeps_the_host_from_getting_ahead(reported: Reporter) -> None:
    """Of 8 ms 3 are a wait, and 3 more are short kernels each of which waits for its launch."""
    maker = TraceMaker()
    for _ in range(3):
        _step(maker)
        _wait(maker, 3 * MS)
        for _ in range(100):
            maker.add("cpu_op", "aten::mul", maker.now_ns, 28_000)
            maker.idle(host_other=28_000)
    finding = _judged(reported, maker, WITHIN)
    assert (finding.code, finding.severity) == ("sync.each_step", "critical")


def test_a_trace_of_launches_behind_one_short_wait(reported: Reporter) -> None:
    """The same with a wait of 0.1 ms: without it the host would be no faster."""
    maker = TraceMaker()
    for _ in range(3):
        maker.step()
        maker.compute(100_000)
        _wait(maker, 50_000)
        for _ in range(100):
            maker.add("cpu_op", "aten::mul", maker.now_ns, 28_000)
            maker.idle(host_other=20_000, in_call=30_000)
    finding = _judged(reported, maker, WITHIN)
    assert (finding.code, finding.severity) == ("launch.bound", "critical")
