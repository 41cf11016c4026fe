"""ResNet-50 on an H200 as it was measured, step by step: what leads at each stage of the case."""

from dataclasses import replace

import msgspec.structs

from perftui.ipc.facts import ModelFacts
from perftui.ipc.view import Shares
from perftui.trainer.diagnosis import HostSignals, judge
from perftui.trainer.diagnosis.signals import RankSignals, StepPatterns

from .made import backends, found, gpu, gpu_rank, lead, loader, rank, run, workers

_HOST = HostSignals(name="here", cpus=16.0, cores=16.0, online=16, cpu_busy=1.3, run_busy=1.1, gpus_present=1)
_FULL = replace(_HOST, run_busy=14.0, cpu_busy=14.2)
_MODEL = ModelFacts(
    tensors=161,
    parameters=25_557_032,
    mib=97.5,
    dtypes={"float32": 25_557_032},
    devices={"cuda:0": 25_557_032},
    four_d=53,
    channels_last=0.0,
)
_FACTS = msgspec.structs.replace(backends(float32_matmul_precision="highest"), model=_MODEL)


def _at(step_ms: float, wait: float, count: int, cpu_share: float) -> RankSignals:
    made = gpu_rank(
        shares=Shares(
            loader_wait=wait, forward=0.3 * (1 - wait), backward=0.1 * (1 - wait), other=0.6 * (1 - wait)
        ),
        cpu_share=cpu_share,
        loader=loader(num_workers=count, batch_size=256, pin_memory=count > 0),
        workers=workers(count, cpu_share=0.4, cpu_wait_share=0.02) if count else None,
        facts=_FACTS,
        patterns=StepPatterns(run_steps=300, samples=256.0),
    )
    return replace(made, step_ms=rank(step_ms=step_ms).step_ms, window_steps=200)


def test_as_found_the_loader_leads_and_nothing_is_said_of_the_gpu() -> None:
    idle = gpu(graphics_share=0.07, sm_active_share=0.05, tensor_active_share=0.0)
    judgement = judge(run(_at(1321.0, 0.927, 0, 0.99), host=_HOST, gpus=(idle,)))
    assert [finding.code for finding in judgement.findings] == ["input.workers"]
    remedy = judgement.findings[0].remedy
    assert remedy is not None
    assert remedy.set == {"loader.num_workers": 16}
    assert remedy.bound is not None
    assert 13 < remedy.bound < 14
    assert remedy.expected is not None
    assert 7 < remedy.expected <= remedy.bound, "899 img/s of 194 were reached with twice the workers"


def test_once_fed_full_float32_is_what_remains() -> None:
    busy = gpu(graphics_share=0.99, sm_active_share=0.9, tensor_active_share=0.0)
    codes = found(run(_at(285.0, 0.001, 32, 0.3), host=_FULL, gpus=(busy,)))
    assert list(codes) == ["compute.fp32"]
    remedy = codes["compute.fp32"].remedy
    assert remedy is not None
    assert remedy.set == {"precision.tf32": True}
    assert remedy.semantics == "numeric"


def test_launch_bound_at_a_small_batch() -> None:
    """Batch 16: 23 ms a step eagerly, 5.2 ms with CUDA graphs: the GPU works a quarter of the time."""
    made = _at(23.0, 0.0, 8, 1.0)
    waiting = gpu(graphics_share=0.24, sm_active_share=0.2, tensor_active_share=0.05)
    finding = lead(run(made, host=_HOST, gpus=(waiting,)))
    assert (finding.code, finding.severity) == ("launch.bound", "warning")
    assert finding.remedy is not None
    assert finding.remedy.set == {"compile.mode": "reduce-overhead"}
    assert "28.2 ms" in (finding.remedy.advice or ""), "the default mode was slower there"


def test_at_full_speed_there_is_nothing_to_fix() -> None:
    facts = msgspec.structs.replace(_FACTS, model=msgspec.structs.replace(_MODEL, channels_last=1.0))
    made = replace(_at(58.0, 0.003, 56, 0.4), facts=facts)
    codes = found(run(made, host=_FULL, gpus=(gpu(),)))
    assert list(codes) == ["compute.bound"]
