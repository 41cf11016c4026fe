"""Waits for the GPU against logging, copies, launches and emptied caches: figures of runs on an H200."""

import msgspec.structs
import pytest

from perftui.ipc.facts import CompileFacts, RankFacts, StackFacts, StackPlace
from perftui.ipc.findings import Finding
from perftui.ipc.trace_report import CopyFigures, LaunchFigures, RankReport, SyncFigures
from perftui.ipc.view import DeviceView

from .made import change, facts, found, gpu, gpu_rank, lead, loader, rank, report, run, shares, stacks

PRINTED = 'print(f"step {step} loss {loss.item():.3f}", flush=True)'


def _place(line: str, count: int, area: str) -> StackPlace:
    return StackPlace(area=area, at="train.py:32 <module>", line=line, count=count)


def _looks(*places: StackPlace, told: bool, **areas: int) -> RankFacts:
    seen = stacks(sum(areas.values()), *places, **areas)
    return facts(stacks=msgspec.structs.replace(seen, waits_told=told))


def _sync(call: str, operator: str, count: int, total_ms: float) -> SyncFigures:
    return SyncFigures(
        call=call,
        operator=operator,
        where=None,
        count=count,
        per_step=count / 3,
        total_us=1000 * total_ms,
        share=0.1,
    )


def _copy(kind: str, count: int, mib: float, exposed_ms: float) -> CopyFigures:
    return CopyFigures(
        kind=kind,
        pageable="Pageable" in kind,
        count=count,
        total_us=1000 * exposed_ms,
        mib=mib,
        gib_s=7.4,
        exposed_us=1000 * exposed_ms,
        per_step=count / 3,
    )


SMALL = _copy("HtoD (Pageable -> Device)", 3072, 0.1875, 2.5)
WAITS = [
    _sync("cudaStreamSynchronize", "aten::copy_", 3072, 17.5),
    _sync("cudaMemcpyAsync", "aten::copy_", 3072, 13.8),
]


def _drained(
    share: float, *syncs: SyncFigures, memcpy: list[CopyFigures], launches: LaunchFigures | None = None
) -> RankReport:
    window = report(host=0.67, latency=0.2, sync=0.1, window_ms=117.0)
    return msgspec.structs.replace(
        window, sync_drained_share=share, syncs=list(syncs), memcpy=memcpy, launches=launches
    )


def _launches(count: int) -> LaunchFigures:
    return LaunchFigures(
        count=count,
        graph_launches=0,
        driver_launches=0,
        per_step=count / 3,
        call_us_total=20_000.0,
        call_us_p50=4.4,
        call_us_max=50.0,
        device_us_p50=0.9,
        delay_us_p50=1.6,
        delay_us_p90=1.7,
        delay_us_max=3.0,
        short_share=0.99,
        slow_calls=0,
        long_delays=0,
    )


def _of(device: str, told: bool, area: str, line: str = PRINTED, busy: float = 0.5) -> dict[str, Finding]:
    seen = _looks(_place(line, 64, area), told=told, model=10, backward=26, **{area: 64})
    parts = shares(other=0.64, forward=0.1)
    made = rank(facts=seen, shares=parts) if device == "cpu" else gpu_rank(facts=seen, shares=parts)
    return found(run(made, gpus=() if device == "cpu" else (gpu(graphics_share=busy),)))


def test_a_line_that_reads_the_loss_and_prints_it_is_no_logging_on_a_gpu() -> None:
    assert "pause.logging" not in _of("cuda:0", told=False, area="logging")
    assert "pause.logging" not in _of("cuda:0", told=True, area="device")


def test_what_is_known_to_be_inside_print_stays_logging() -> None:
    assert _of("cuda:0", told=True, area="logging")["pause.logging"].severity == "critical"
    assert "pause.logging" in _of("cuda:0", told=False, area="logging", line='log.write(f"{step}\\n")')
    assert "pause.logging" in _of("cpu", told=False, area="logging")
    assert "pause.logging" not in _of("cuda:0", told=True, area="logging", busy=0.98)  # it works on meanwhile


@pytest.mark.parametrize(
    ("engine", "waits", "cost"), [(0.98, 60, None), (0.6, 60, 0.4), (0.3, 15, 0.15), (0.3, 9, None)]
)
def test_waits_by_looks_cost_only_where_the_gpu_idles_as_well(
    engine: float, waits: int, cost: float | None
) -> None:
    place = _place("total += loss.item()", waits, "device")
    seen = _looks(place, told=True, device=waits, model=100 - waits)
    finding = found(run(gpu_rank(facts=seen), gpus=(gpu(graphics_share=engine),))).get("sync.each_step")
    assert (None if finding is None else pytest.approx(finding.share)) == cost
    if finding is not None and finding.remedy is not None:
        assert (finding.severity, finding.remedy.at) == ("warning", "train.py:32 <module>")
        assert finding.unsure is not None, "looks are estimates, and a window would tell"


def test_waits_and_copies_are_not_taken_for_launches() -> None:
    busy = gpu(graphics_share=0.1)
    assert "launch.bound" in found(run(gpu_rank(cpu_share=0.99), gpus=(busy,)))
    waiting = _looks(_place("x.cpu()", 80, "device"), told=True, device=80, model=20)
    assert "launch.bound" not in found(run(gpu_rank(cpu_share=0.99, facts=waiting), gpus=(busy,)))
    copying = DeviceView(
        sampled_steps=20, step_ms=24.0, wait_ms=1.0, h2d_ms=20.7, forward_ms=0.3, backward_ms=1.9,
        comm_exposed_ms=None, optimizer_ms=0.1, other_ms=0.0,
    )  # fmt: skip
    codes = found(run(gpu_rank(cpu_share=0.99, device_ms=copying, loader=None), gpus=(busy,)))
    assert "launch.bound" not in codes
    assert codes["transfer.pageable"].unsure is not None, "where the copies come from was not seen"


def test_many_small_copies_are_the_cause_of_the_waits_they_make() -> None:
    window = _drained(0.61, *WAITS, memcpy=[SMALL], launches=_launches(3522))
    codes = found(run(gpu_rank(report=window, loader=None)))
    assert codes["transfer.many_small"].severity == "critical"
    assert codes["transfer.many_small"].share == pytest.approx(0.61 + 2.5 / 117, abs=0.001)
    assert {"sync.each_step", "launch.bound", "transfer.pageable"}.isdisjoint(codes)


def test_reading_back_beside_copies_is_the_scripts_own() -> None:
    window = _drained(0.61, _sync("cudaStreamSynchronize", "aten::copy_", 3072, 17.5), memcpy=[])
    assert found(run(gpu_rank(report=window)))["sync.each_step"].share == pytest.approx(0.61)
    item = _sync("cudaStreamSynchronize", "aten::_local_scalar_dense", 483, 31.3)
    mixed = _drained(0.5, item, *WAITS, memcpy=[SMALL], launches=_launches(3522))
    codes = found(run(gpu_rank(report=mixed)))
    assert codes["sync.each_step"].share == pytest.approx(0.25)
    assert "aten::_local_scalar_dense" in codes["sync.each_step"].sentence
    assert codes["transfer.many_small"].share == pytest.approx(0.25 + 2.5 / 117, abs=0.001)


LARGE = _copy("HtoD (Pageable -> Device)", 6, 441.0, 58.0)


@pytest.mark.parametrize(("pinned", "sets"), [(None, {}), (False, {"loader.pin_memory": True}), (True, {})])
def test_large_copies_with_and_without_a_loader(pinned: bool | None, sets: dict[str, bool]) -> None:
    window = report(host=0.07, memcpy=[LARGE], window_ms=69.6)
    used = None if pinned is None else loader(pin_memory=pinned)
    finding = lead(run(gpu_rank(report=window, loader=used)))
    assert (finding.code, finding.severity) == ("transfer.pageable", "critical")
    assert finding.share == pytest.approx(58.0 / 69.6, abs=0.001)
    assert finding.remedy is not None
    assert finding.remedy.set == sets
    assert "pin_memory" in (finding.remedy.advice or "") or sets


def test_pinned_or_few_copies_are_not_pageable() -> None:
    pinned = report(host=0.07, memcpy=[_copy("HtoD (Pinned -> Device)", 6, 441.0, 58.0)], window_ms=69.6)
    assert "transfer.pageable" not in found(run(gpu_rank(report=pinned, loader=None)))
    few = report(host=0.07, memcpy=[_copy("HtoD (Pageable -> Device)", 3, 0.3, 5.0)], window_ms=69.6)
    assert "transfer.pageable" not in found(run(gpu_rank(report=few, loader=None)))


def _emptied(*places: StackPlace, retries: float = 0, frees: float = 64.0) -> dict[str, Finding]:
    looks = 125
    grown = change(device_frees=frees * 600, alloc_retries=retries)
    seen = StackFacts(looks=looks, areas={"script": looks}, places=list(places))
    made = gpu_rank(change=grown, facts=facts(stacks=seen))
    return found(run(made, gpus=(gpu(graphics_share=0.54),)))


def test_an_emptied_cache_and_its_line() -> None:
    finding = _emptied(_place("torch.cuda.empty_cache()", 34, "script"))["sync.each_step"]
    assert (finding.severity, finding.share) == ("critical", 34 / 125)
    assert "64 blocks a step" in finding.sentence
    assert finding.remedy is not None
    assert finding.remedy.at == "train.py:32 <module>"
    seldom = _emptied(_place("torch.cuda.empty_cache()", 2, "script"))["sync.each_step"]
    assert seldom.severity == "info"


def test_an_emptied_cache_whose_line_was_not_seen() -> None:
    finding = _emptied()["sync.each_step"]
    assert (finding.severity, finding.share) == ("warning", 0.0)
    assert finding.unsure is not None


def test_what_gives_back_of_itself_is_not_blamed() -> None:
    grown = change(steps=150, device_frees=161.0, alloc_retries=0)
    warming = gpu_rank(change=grown, facts=facts(stacks=stacks(100, model=100)))
    assert "sync.each_step" not in found(run(warming, gpus=(gpu(graphics_share=0.54),)))
    told = {"PYTORCH_CUDA_ALLOC_CONF": "garbage_collection_threshold:0.8"}
    collecting = gpu_rank(change=change(device_frees=6000.0, alloc_retries=0), facts=facts(environment=told))
    assert "sync.each_step" not in found(run(collecting, gpus=(gpu(graphics_share=0.54),)))


def test_memory_that_ran_out_is_another_matter_and_a_warm_allocator_none() -> None:
    assert "sync.each_step" not in _emptied(retries=180)
    assert "sync.each_step" not in _emptied(frees=0.0)
    assert "sync.each_step" not in _emptied(frees=0.2)


def test_a_cpu_has_no_waits() -> None:
    seen = _looks(_place("loss.item()", 60, "script"), told=False, script=60, model=40)
    assert "sync.each_step" not in found(run(rank(facts=seen)))


def test_launches_that_graphs_were_asked_to_spare_follow_from_their_being_skipped() -> None:
    slow = report(host=0.7, launches=_launches(30))
    compiled = CompileFacts(
        frames=1, graphs=1, recompiles=0, graph_breaks=0, limit_hits=0, compile_s=4.0, cudagraph_skips=1
    )
    codes = found(run(gpu_rank(report=slow, facts=facts(compile=compiled))))
    launches = codes["launch.bound"]
    assert (launches.under, launches.remedy) == ("compile.cudagraph_skips", None)
    assert codes["compile.cudagraph_skips"].severity == "critical"


def test_what_runs_in_graphs_is_not_told_to_use_them() -> None:
    slow = report(host=0.7, launches=_launches(30))
    plain = found(run(gpu_rank(report=slow)))["launch.bound"].remedy
    graphs = msgspec.structs.replace(slow, launches=msgspec.structs.replace(_launches(30), graph_launches=6))
    within = found(run(gpu_rank(report=graphs)))["launch.bound"].remedy
    assert plain is not None
    assert within is not None
    assert "reduce-overhead" in (plain.advice or "")
    assert within.set == {}
    assert "in use already" in (within.advice or "")
