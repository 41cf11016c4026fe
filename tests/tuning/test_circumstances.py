"""What a launch runs under, from its hub's updates."""

import msgspec
import pytest

from perftui.ipc.facts import AllocatorFacts, CompileFacts, RankFacts
from perftui.ipc.ledger_records import Circumstances
from perftui.ipc.view import GpuProcess, GpuView, Header, HostView, RankView, RunView
from perftui.trainer.tuning.circumstances import CircumstancesLog

HEADER = Header(run_id="r", name="n", host="h", command=["x"], state="training", started_unix=0, elapsed_s=1)


def gpu(uuid: str, clock: float, *, joules: float | None = 1.0, hot: float = 0.0, others: int = 0) -> GpuView:
    return GpuView(
        uuid=uuid,
        host="h",
        ranks=[0],
        age_s=0,
        sm_clock_mhz=clock,
        temperature_c=clock / 40,
        utilisation_share=0.5,
        throttled_share={"thermal_hw": hot},
        energy_j_per_step=joules,
        memory_used_mib=900.0,
        foreign_processes=[GpuProcess(pid=number) for number in range(others)],
    )


def rank(facts: RankFacts | None) -> RankView:
    return RankView(
        rank=0, host="h", pid=1, state="training", age_s=0, device="cuda:0", gpu_uuid="G", world_size=1,
        steps=9, epoch=0, boundary="optimizer", window_steps=9, facts=facts,
    )  # fmt: skip


def allocator(peak_mib: float) -> AllocatorFacts:
    return AllocatorFacts(
        device="cuda:0", allocated_mib=1, reserved_mib=1, inactive_split_mib=None, peak_allocated_mib=1,
        peak_reserved_mib=peak_mib, alloc_retries=0, ooms=0,
    )  # fmt: skip


def test_means_and_peaks_over_updates_and_gpus() -> None:
    log = CircumstancesLog()
    host = HostView(name="h", age_s=0, cpu_busy=1.5, pressure_share=0.1, memory_used_mib=100.0)
    log.take(RunView(header=HEADER, gpus=[gpu("G", 1900), gpu("H", 1700, hot=0.4, others=1)], hosts=[host]))
    log.take(RunView(header=HEADER, gpus=[gpu("G", 2000), gpu("H", 1800)], hosts=[]))
    found = log.result()
    assert found == Circumstances(
        sm_clock_mhz=1850.0,
        temperature_c=50.0,
        utilisation_share=0.5,
        throttled_share={"thermal_hw": 0.2},
        foreign_processes=0.5,
        energy_j_per_step=2.0,
        gpu_memory_mib=900.0,
        busy_cores=1.5,
        pressure_share=0.1,
        host_memory_mib=100.0,
    )


def test_what_a_rank_tells_of_its_memory_is_kept_when_it_says_nothing_new() -> None:
    log = CircumstancesLog()
    facts = RankFacts(allocator=allocator(3000.0), compile=CompileFacts(compile_s=12.5))
    log.take(RunView(header=HEADER, ranks=[rank(facts)], gpus=[gpu("G", 1900)]))
    log.take(RunView(header=HEADER, ranks=[rank(None)], gpus=[gpu("G", 1900)]))
    assert (log.result().gpu_memory_mib, log.result().compile_s) == (3000.0, 12.5)


def test_what_was_never_measured_is_none_and_half_the_energy_is_none_too() -> None:
    log = CircumstancesLog()
    assert log.result() == Circumstances()
    log.take(RunView(header=HEADER, gpus=[gpu("G", 1900), gpu("H", 1900, joules=None)]))
    assert log.result().energy_j_per_step is None
    assert log.result().busy_cores is None
    assert log.result().sm_clock_mhz == pytest.approx(1900)


def test_what_a_step_reads_from_storage() -> None:
    log = CircumstancesLog()
    for mib_s, steps_per_s in ((30.0, 4.0), (10.0, 6.0), (None, None)):
        host = HostView(name="h", age_s=0, run_storage_read_mib_s=mib_s)
        ranks = [msgspec.structs.replace(rank(None), steps_per_s=steps_per_s)]
        log.take(RunView(header=HEADER, ranks=ranks, hosts=[host]))
    assert log.result().storage_mib_per_step == pytest.approx(20.0 / 5.0)
    assert CircumstancesLog().result().storage_mib_per_step is None
