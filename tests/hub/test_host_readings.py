"""Readings of hosts and workers on their way through the hub: taken together, averaged, aged, recorded."""

import os
from pathlib import Path

import msgspec
import pytest

from perftui.ipc.messages import FromRank
from perftui.ipc.recording import Entry, RecordingWriter, read_recording
from perftui.ipc.view import HostView, LoaderWorkers, Pressure, WorkerView
from perftui.trainer.diagnosis.signals import WorkerGrowth
from perftui.trainer.hub.fold import RunFold
from perftui.trainer.hub.host_log import HostLog, mean_view
from perftui.trainer.hub.recorded_readings import RecordedReadings
from perftui.trainer.hub.run_signals import signals_of
from perftui.trainer.hub.sensors import Sensors
from perftui.trainer.hub.summaries import summarise
from perftui.trainer.hub.views import host_views, workers_of
from perftui.trainer.hub.worker_log import WorkerLog, together
from perftui.trainer.hub.worker_memory import WorkerMemory
from tests.hub.fake_rank import own_start_ticks
from tests.hub.made_messages import START_UNIX, batch, description, facts, hello


def worker(rank: int, pid: int, **figures: object) -> WorkerView:
    base = WorkerView(
        rank=rank,
        pid=pid,
        start_ticks=7,
        found_by="name",
        state="S",
        cpu_share=0.5,
        blocked_share=0.25,
        rss_mib=100.0,
        read_mib_s=4.0,
        threads=3,
    )
    return msgspec.structs.replace(base, **figures)


def reading(*workers: WorkerView, age_s: float | None = 0.0, **figures: object) -> HostView:
    base = HostView(name="h", age_s=0.0, slow_age_s=age_s, workers_age_s=age_s, workers=list(workers))
    return msgspec.structs.replace(base, **figures)


def fold_of(*entries: Entry, messages: tuple[FromRank, ...] = (hello(), batch(0, 50, 1))) -> RunFold:
    fold = RunFold()
    for message in messages:
        fold.apply(Entry(unix=START_UNIX, message=message))
    for entry in entries:
        fold.apply(entry)
    return fold


def test_workers_taken_together() -> None:
    views = [
        worker(0, 10, state="D", cpu_share=0.2, cpu_wait_share=0.1),
        worker(0, 11, state="R", cpu_share=1.0, cpu_wait_share=0.3, found_by="kin"),
        worker(0, 12, gone=True, cpu_share=None),
    ]
    found = together(views)
    assert found == LoaderWorkers(
        count=2,
        age_s=0.0,
        running=1,
        blocked=1,
        gone=1,
        threads=6,
        cpu_share=0.6,
        cpu_share_max=1.0,
        cpu_wait_share=0.2,
        blocked_share=0.25,
        rss_mib=200.0,
        read_mib_s=8.0,
        found_by="kin",
    )


def test_workers_found_waiting_for_a_socket() -> None:
    found = together([worker(0, 10, waits_for_socket=True), worker(0, 11, waits_for_socket=False)])
    assert found is not None
    assert found.socket_share == 0.5
    untold = together([worker(0, 10, waits_for_socket=True), worker(0, 11)])
    assert untold is not None
    assert untold.socket_share is None


@pytest.mark.parametrize(("second", "share"), [(True, 1.0), (False, 0.5), (None, None)])
def test_workers_found_waiting_for_a_lock(second: bool | None, share: float | None) -> None:
    found = together([worker(0, 10, waits_for_lock=True), worker(0, 11, waits_for_lock=second)])
    assert found is not None
    assert found.lock_share == share


def test_what_one_worker_has_to_itself_grows_until_another_takes_its_place() -> None:
    memory = WorkerMemory()
    for second, private in enumerate((10.0, 20.0, 20.0, 15.0, 40.0)):
        views = [worker(0, 10, private_mib=private, rss_mib=100.0 + second), worker(0, 11)]
        memory.add(views, START_UNIX + 10 * second)
    whole = memory.growth()
    assert whole == WorkerGrowth(seconds=40.0, private_mib=30.0, rss_mib=4.0, rise=2 / 3)
    lately = memory.growth(10.0)
    assert lately is not None
    assert (lately.seconds, lately.private_mib, lately.rise) == (10.0, 25.0, None)
    memory.add([worker(0, 12, private_mib=5.0)], START_UNIX + 50)
    assert memory.growth() is None


def test_the_rules_hear_of_it() -> None:
    entries = (
        Entry(
            unix=START_UNIX + second,
            hosts=[
                reading(worker(0, 10, private_mib=100.0 + second, waits_for_socket=True, waits_for_lock=True))
            ],
        )
        for second in (1, 11, 21)
    )
    (mine,) = signals_of(fold_of(*entries), whole_run=True).ranks
    assert mine.worker_growth == WorkerGrowth(seconds=20.0, private_mib=20.0, rss_mib=0.0, rise=1.0)
    assert mine.workers is not None
    assert (mine.workers.socket_share, mine.workers.lock_share) == (1.0, 1.0)


def test_a_sum_in_which_one_is_missing_is_missing() -> None:
    found = together([worker(0, 10), worker(0, 11, read_mib_s=None, cpu_share=None)])
    assert found is not None
    assert (found.count, found.read_mib_s, found.cpu_share, found.cpu_share_max) == (2, None, None, 0.5)
    assert (found.rss_mib, found.io_wait_share) == (200.0, None)
    assert together([]) is None


def test_a_reading_that_did_not_look_at_workers_keeps_those_of_the_one_before() -> None:
    fold = fold_of(
        Entry(unix=START_UNIX + 1, hosts=[reading(worker(0, 10), worker(1, 11))]),
        Entry(unix=START_UNIX + 2, hosts=[reading(age_s=1.0, cpu_busy=1.5)]),
    )
    (view,) = host_views(fold, START_UNIX + 2.5)
    assert [each.pid for each in view.workers] == [10, 11]
    assert (view.age_s, view.slow_age_s, view.workers_age_s, view.cpu_busy) == (0.5, 1.5, 1.5, 1.5)
    mine = workers_of(fold, 0, START_UNIX + 2.5)
    assert mine is not None
    assert (mine.count, mine.age_s) == (1, 1.5)
    fold.apply(Entry(unix=START_UNIX + 3, hosts=[reading()]))
    assert host_views(fold, START_UNIX + 3)[0].workers == []
    assert workers_of(fold, 0, START_UNIX + 3) is None


def test_the_mean_of_readings_leaves_out_what_was_missing() -> None:
    readings = [
        reading(cpu_busy=1.0, disk_read_mib_s=None, missing={"disk_read_mib_s": "needs two readings"}),
        reading(cpu_busy=2.0, disk_read_mib_s=30.0, pressure_io=Pressure(source="host", some=0.2, full=0.1)),
        reading(
            worker(0, 10),
            cpu_busy=3.0,
            disk_read_mib_s=None,
            pressure_io=Pressure(source="host", some=0.4, full=0.3),
            oom_kills=2,
            missing={"disk_read_mib_s": "why", "refault_mib_s": "not told"},
        ),
    ]
    mean = mean_view(readings)
    assert (mean.cpu_busy, mean.disk_read_mib_s, mean.refault_mib_s, mean.oom_kills) == (2.0, 30.0, None, 2)
    assert mean.pressure_io is not None
    assert mean.pressure_io.some == pytest.approx(0.3)
    assert mean.pressure_io.full == pytest.approx(0.2)
    assert (mean.workers, mean.workers_age_s) == ([], None)
    assert mean.missing == {"refault_mib_s": "not told"}


def test_the_rules_see_means_over_the_training_and_the_last_seconds() -> None:
    log = HostLog()
    log.add(reading(others_busy=9.0, throttled_share=0.9), training=False)
    assert log.mean() is None
    for number in range(30):
        log.add(reading(others_busy=float(number), throttled_share=0.5), training=True)
    recent, whole, mean = log.recent(), log.whole(), log.mean()
    assert recent is not None
    assert whole is not None
    assert mean is not None
    assert (recent.others_busy, whole.others_busy, mean.others_busy) == (24.5, 14.5, 14.5)
    assert whole.throttled_share == 0.5


def test_what_the_start_read_is_not_taken_for_the_training_s_own_reads() -> None:
    log = HostLog()
    rates = [(0.0, 90.0), (1.0, 90.0), (0.0, 2.0), (1.0, 2.0), (0.0, 4.0), (1.0, 4.0)]
    for number, (age_s, rate) in enumerate(rates):
        log.add(reading(age_s=age_s, run_storage_read_mib_s=rate, cpu_busy=1.0), training=True)
        whole = log.whole()
        assert whole is not None
        assert whole.cpu_busy == 1.0
        if number < 2:
            assert whole.run_storage_read_mib_s is None
        if number == len(rates) - 1:
            assert whole.run_storage_read_mib_s == 3.0


def test_the_looks_at_workers_are_averaged() -> None:
    log = WorkerLog()
    assert log.recent() is log.whole() is log.at(0.0) is None
    for number in range(100):
        look = LoaderWorkers(count=2, age_s=0.0, cpu_share=float(number), blocked=number % 2)
        log.add(look, float(number), training=True)
    recent, whole = log.recent(), log.whole()
    assert recent is not None
    assert whole is not None
    assert (recent.cpu_share, recent.blocked, recent.count) == (97.0, 1, 2)
    assert whole.cpu_share == 49.5
    log.add(None, 100.0, training=True)
    assert log.recent() is log.at(100.0) is None


def test_signals_and_summary_have_the_workers_of_each_rank() -> None:
    looks = [
        Entry(unix=START_UNIX + at, hosts=[reading(worker(0, 10, cpu_share=at / 10), run_busy=1.0)])
        for at in range(1, 6)
    ]
    fold = fold_of(*looks)
    (rank,) = signals_of(fold).ranks
    assert rank.workers is not None
    assert rank.workers.count == 1
    assert rank.workers.cpu_share == pytest.approx(0.3)
    summary = summarise(fold, facts(), START_UNIX + 7, [], None, 0)
    assert summary.ranks[0].workers is not None
    assert summary.ranks[0].workers.cpu_share == pytest.approx(0.3)
    assert summary.host.age_s == 2.0
    assert [each.pid for each in summary.host.workers] == [10]
    assert summary.host_mean is not None
    assert (summary.host_mean.run_busy, summary.host_mean.workers) == (1.0, [])


def test_single_workers_are_recorded_every_ten_seconds_and_read_back(tmp_path: Path) -> None:
    writer = RecordingWriter(tmp_path, 1 << 20)
    thinning, live = RecordedReadings(), fold_of()
    for message in (hello(), batch(0, 50, 1)):
        writer.append(Entry(unix=START_UNIX, message=message))
    for second in range(24):
        looked = second % 2 == 0
        view = reading(worker(0, 10, cpu_share=float(second))) if looked else reading(age_s=1.0)
        unix = START_UNIX + second
        live.apply(Entry(unix=unix, hosts=[view]))
        writer.append(Entry(unix=unix, hosts=thinning.thinned([view], unix)))
    writer.close()
    replayed = RunFold()
    recorded: list[float] = []
    for entry in read_recording(tmp_path):
        replayed.apply(entry)
        recorded += [entry.unix - START_UNIX for host in entry.hosts if host.workers]
    assert recorded == [0.0, 10.0, 20.0]
    (was,), (now,) = host_views(live, START_UNIX + 23), host_views(replayed, START_UNIX + 23)
    assert (was.workers_age_s, was.workers[0].cpu_share) == (1.0, 22.0)
    assert (now.workers_age_s, now.workers[0].cpu_share) == (3.0, 20.0)


def test_that_the_workers_have_gone_or_come_is_recorded_at_once() -> None:
    thinning = RecordedReadings()
    full, empty = [reading(worker(0, 10))], [reading()]
    assert thinning.thinned(full, 100.0) == full
    assert thinning.thinned(full, 102.0) == [reading(workers_age_s=2.0)]
    assert thinning.thinned(empty, 104.0) == empty
    assert thinning.thinned(full, 106.0) == full


def test_the_sensors_read_this_host_and_take_a_living_rank_for_what_it_is() -> None:
    sensors = Sensors(description(run_id="no-such-run"))
    greeting = msgspec.structs.replace(hello(), pid=os.getpid(), start_ticks=own_start_ticks())
    try:
        (view,), gpus = sensors.read(fold_of(messages=(greeting,)))
    finally:
        sensors.close()
    assert (view.name, gpus, view.workers_age_s) == ("h", [], 0.0)
    assert view.run_processes is not None
    assert view.run_processes >= 1
    assert view.cores == len(os.sched_getaffinity(0))
