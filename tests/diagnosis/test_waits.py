"""Why a rank waits for its loader: each cause at its thresholds, and what it says when it cannot tell."""

from dataclasses import replace

import msgspec.structs
import pytest

from perftui.ipc.facts import StackFacts, StackPlace
from perftui.ipc.view import Pressure
from perftui.ipc.worker_stacks import WorkerFrame, WorkerStacks
from perftui.trainer.diagnosis import POLICY, judge
from perftui.trainer.diagnosis.signals import EpochWait, HostSignals, RankSignals, StepPatterns

from .made import BUSY, QUIET, facts, found, lead, loader, rank, run, shares, stacks, workers

_FULL = replace(QUIET, cpus=2.0, cores=2.0, online=2, cpu_busy=1.9, run_busy=1.9)


def _starved(count: int, **figures: object) -> RankSignals:
    """Half of the step is waiting for workers."""
    seen = workers(count, **figures) if count else None
    made = rank(shares=shares(wait=0.5, forward=0.15), loader=loader(num_workers=count), workers=seen)
    return replace(made, cpu_share=0.5) if count else made


@pytest.mark.parametrize(
    ("cpu", "held_up", "code"),
    [
        (POLICY.worker_busy, 0.0, "input.item"),
        (0.5, 0.25, "input.item"),
        (POLICY.worker_idle, 0.0, "input.workers"),
    ],
)
def test_workers_that_compute_are_dear_items_and_idle_ones_are_too_few(
    cpu: float, held_up: float, code: str
) -> None:
    finding = lead(run(_starved(2, cpu_share=cpu, cpu_wait_share=held_up), host=_FULL))
    assert (finding.code, finding.severity) == (code, "critical")


def test_workers_that_compute_are_too_few_while_cores_are_free() -> None:
    finding = lead(run(_starved(2, cpu_share=0.95, cpu_wait_share=0.0)))
    assert finding.code == "input.workers"
    assert finding.remedy is not None
    assert finding.remedy.set == {"loader.num_workers": 6}


def test_workers_whose_waits_overlap_may_be_more_than_cores() -> None:
    finding = lead(run(_starved(2, cpu_share=0.05, cpu_wait_share=0.0), host=_FULL))
    assert finding.code == "input.workers"
    assert finding.remedy is not None
    assert finding.remedy.set == {"loader.num_workers": 6}
    assert finding.remedy.bound == 2.0
    assert finding.remedy.expected is not None
    assert finding.remedy.expected <= 2.0
    assert "few cores" in (finding.remedy.caution or "")


@pytest.mark.parametrize(
    ("figures", "host"),
    [
        ({"blocked_share": POLICY.blocked_share}, _FULL),
        ({"io_wait_share": POLICY.blocked_share}, _FULL),
        ({"storage_read_mib_s": POLICY.storage_mib_s}, _FULL),
        ({"major_faults_per_s": POLICY.major_faults_per_s}, _FULL),
        ({}, replace(_FULL, run_storage_read_mib_s=POLICY.storage_mib_s)),
        ({}, replace(_FULL, pressure_io=Pressure(source="cgroup", some=POLICY.pressure_io))),
    ],
)
def test_idle_workers_with_traces_of_storage(figures: dict[str, object], host: HostSignals) -> None:
    finding = lead(run(_starved(2, cpu_share=0.1, cpu_wait_share=0.0, **figures), host=host))
    assert finding.code == "input.storage"
    assert finding.remedy is not None
    assert "disk" in (finding.remedy.advice or "")


def test_pressure_of_everybody_on_storage_says_nothing_about_this_run() -> None:
    host = replace(_FULL, pressure_io=Pressure(source="host", some=0.9))
    assert lead(run(_starved(2, cpu_share=0.1, cpu_wait_share=0.0), host=host)).code == "input.workers"


def test_a_thread_that_sleeps_in_its_dataset_waits_for_something() -> None:
    idle = replace(_starved(0), cpu_share=0.52)
    finding = lead(run(idle))
    assert finding.code == "input.workers"
    assert "waits for something" in finding.sentence
    stored = replace(QUIET, run_storage_read_mib_s=20.0)
    assert lead(run(idle, host=stored)).code == "input.storage"


def test_a_thread_without_a_core_on_a_busy_host_is_not_taken_to_wait() -> None:
    idle = replace(_starved(0), cpu_share=0.52)
    assert "waits for something" not in lead(run(idle, host=BUSY)).sentence
    stored = replace(BUSY, run_storage_read_mib_s=POLICY.storage_mib_s)
    assert lead(run(idle, host=stored)).code == "input.storage"


def test_a_loader_that_mostly_collates() -> None:
    place = StackPlace(area="collate", at="train.py:7 rows", line="return torch.tensor(rows)", count=28)
    seen = replace(_starved(0), facts=facts(stacks=stacks(100, place, collate=30, dataset=20, model=50)))
    finding = lead(run(seen))
    assert (finding.code, finding.remedy and finding.remedy.at) == ("input.collate", "train.py:7 rows")
    fewer = replace(_starved(0), facts=facts(stacks=stacks(100, place, collate=29, dataset=21, model=50)))
    assert lead(run(fewer)).code == "input.workers"


def test_the_line_that_makes_samples_is_named() -> None:
    place = StackPlace(area="dataset", at="data.py:31 Photos.__getitem__", line=None, count=45)
    seen = replace(_starved(0), facts=facts(stacks=stacks(100, place, dataset=50, model=50)))
    finding = lead(run(seen))
    assert finding.remedy is not None
    assert finding.remedy.at == "data.py:31 Photos.__getitem__"


def test_a_window_names_what_workers_spend_their_time_on() -> None:
    def frame(function: str, file: str, own: float, total: float) -> WorkerFrame:
        return WorkerFrame(function=function, file=file, line=9, self_share=own, total_share=total)

    frames = [
        frame("decode", "/usr/lib/python3/site-packages/PIL/Image.py", 0.7, 0.7),
        frame("load_picture", "/home/me/data.py", 0.1, 0.8),
        frame("Photos.__getitem__", "/home/me/data.py", 0.05, 0.95),
        frame("main", "/home/me/train.py", 0.0, 0.1),
    ]
    seen = WorkerStacks(rank=0, pid=1, number=0, samples=100, frames=frames)
    busy = _starved(2, cpu_share=0.95, cpu_wait_share=0.0)
    finding = lead(run(replace(busy, worker_stacks=(seen,)), host=_FULL))
    assert finding.code == "input.item"
    assert finding.remedy is not None
    assert finding.remedy.at == "/home/me/data.py:9 load_picture"
    assert finding.unsure is None
    few = msgspec.structs.replace(seen, samples=POLICY.worker_looks - 1)
    unnamed = lead(run(replace(busy, worker_stacks=(few,)), host=_FULL))
    assert unnamed.remedy is not None
    assert unnamed.remedy.at is None
    assert "profile window" in (unnamed.unsure or "")


def _awaited(worker: dict[str, int], ready: int) -> RankSignals:
    looked = StackFacts(looks=100, areas={"loader": 100}, awaited=worker, others_ready=ready)
    made = _starved(3, cpu_share=0.1, cpu_wait_share=0.0)
    patterns = StepPatterns(worker_wait_ms={0: 0.3, 1: 140.0, 2: 0.3}, worker_steps=99, run_steps=200)
    return replace(made, facts=facts(stacks=looked), patterns=patterns)


def test_one_worker_awaited_while_all_others_are_done() -> None:
    finding = lead(run(_awaited({"1": 60}, 60)))
    assert finding.code == "input.one_slow_worker"
    assert "worker 1" in finding.sentence
    assert {e.name: e.value for e in finding.evidence}["wait for worker 1"] == 140.0


def test_one_worker_awaited_while_the_others_work_too_is_a_shortage_in_step() -> None:
    """Workers that are all too slow finish together: only the first of their batches is waited for."""
    assert lead(run(_awaited({"1": 60}, 10))).code == "input.workers"
    assert lead(run(_awaited({"0": 30, "1": 30}, 60))).code == "input.workers"


def test_a_slow_worker_by_its_cpu_where_nobody_looked() -> None:
    made = replace(_awaited({}, 0), facts=facts())
    assert lead(run(made)).code == "input.workers"
    uneven = workers(3, cpu_share=0.35, cpu_share_max=0.98, cpu_wait_share=0.0)
    assert lead(run(replace(made, workers=uneven))).code == "input.one_slow_worker"


def test_workers_with_nothing_to_do_cost_more_than_they_bring() -> None:
    made = replace(_starved(2, cpu_share=0.05, cpu_wait_share=0.0), step_ms=rank(step_ms=5.0).step_ms)
    finding = lead(run(made))
    assert finding.code == "input.too_many_workers"
    assert finding.remedy is not None
    assert finding.remedy.set == {"loader.num_workers": 0}


def test_more_workers_than_cores_that_get_no_core() -> None:
    crowd = _starved(16, cpu_share=0.1, cpu_wait_share=0.7)
    finding = lead(run(replace(crowd, window_steps=100), host=_FULL))
    assert finding.code == "input.too_many_workers"
    assert finding.remedy is not None
    assert finding.remedy.set == {"loader.num_workers": 2}


def test_a_crowd_of_workers_costs_at_the_heads_of_epochs() -> None:
    patterns = StepPatterns(epoch_starts=5, epoch_start_ms=200.0, run_steps=200)
    made = rank(
        shares=shares(wait=0.31, forward=0.2),
        epoch_start_wait=0.3,
        patterns=patterns,
        loader=loader(num_workers=12),
        workers=workers(12, cpu_share=0.1, cpu_wait_share=0.6),
    )
    first, second = judge(run(made, host=_FULL)).findings
    assert (first.code, first.share) == ("input.too_many_workers", 0.3)
    assert first.remedy is not None
    assert first.remedy.set == {"loader.num_workers": 2}
    assert (second.code, second.under) == ("input.epoch_start", "input.too_many_workers")
    fewer = replace(made, loader=loader(num_workers=3), workers=workers(3, cpu_share=0.1, cpu_wait_share=0.6))
    assert [f.code for f in judge(run(fewer, host=_FULL)).findings] == ["input.epoch_start"]


def test_a_cause_in_doubt_is_firm_where_what_follows_from_it_is() -> None:
    patterns = StepPatterns(epoch_starts=5, epoch_start_ms=200.0, run_steps=200)
    made = rank(
        shares=shares(wait=0.5, forward=0.15),
        epoch_start_wait=0.3,
        patterns=patterns,
        loader=loader(num_workers=20),
        workers=workers(20, cpu_share=0.1, cpu_wait_share=0.6),
    )
    findings = judge(run(made, host=BUSY)).findings
    assert [f.code for f in findings] == ["input.too_many_workers", "input.epoch_start", "self.contended"]
    assert [f.under for f in findings] == [None, "input.too_many_workers", None]


@pytest.mark.parametrize(
    ("cpu", "host", "seen"), [(0.7, _FULL, True), (0.9, _FULL, False), (0.7, BUSY, False)]
)
def test_a_crowd_of_workers_takes_the_models_cores(cpu: float, host: HostSignals, seen: bool) -> None:
    crowded = workers(20, cpu_share=0.1, cpu_wait_share=0.6)
    made = rank(cpu_share=cpu, loader=loader(num_workers=20), workers=crowded)
    codes = found(run(replace(made, window_steps=100), host=host))
    assert ("input.too_many_workers" in codes) is seen


def test_idle_workers_on_a_busy_host_may_be_held_up_by_the_training_thread() -> None:
    """Eight workers with nothing to do beside two busy neighbours: more of them are no remedy."""
    idle = _starved(8, cpu_share=0.04, cpu_wait_share=0.005)
    finding = found(run(idle, host=BUSY))["input.workers"]
    assert "who waits for whom is open" in finding.sentence
    assert finding.remedy is None
    assert finding.unsure is not None
    quiet = found(run(idle))["input.workers"].remedy
    assert quiet is not None
    assert quiet.set == {"loader.num_workers": 21}


def test_workers_that_get_their_cores_are_not_in_doubt_on_a_busy_host() -> None:
    sure = judge(run(_starved(2, cpu_share=0.9, cpu_wait_share=0.05), host=BUSY)).findings
    assert [f.code for f in sure] == ["input.workers", "self.contended"]
    # without a core; idle, as the training thread may have none
    for cpu, held_up in ((0.6, 0.4), (0.1, 0.05)):
        doubted = judge(run(_starved(2, cpu_share=cpu, cpu_wait_share=held_up), host=BUSY)).findings
        assert [f.code for f in doubted] == ["self.contended", "input.workers"]
        assert doubted[1].severity == "warning"
    connected = _starved(2, cpu_share=0.1, cpu_wait_share=0.05, socket_share=1.0)
    assert lead(run(connected, host=BUSY)).code == "input.storage"


@pytest.mark.parametrize(
    ("before", "later", "code"),
    [(0.5, 0.05, "input.cold_start"), (0.5, 0.45, "input.workers"), (0.2, 0.09, "input.workers")],
)
def test_a_first_epoch_that_alone_waited(before: float, later: float, code: str) -> None:
    epochs = (
        EpochWait(epoch=0, steps=50, wall_ms=5000, wait_ms=5000 * before),
        EpochWait(epoch=1, steps=50, wall_ms=5000, wait_ms=5000 * later),
    )
    waits = (before + later) / 2
    made = rank(shares=shares(wait=waits, forward=0.2), patterns=StepPatterns(epochs=epochs, run_steps=200))
    assert lead(run(made)).code == code


def test_a_first_epoch_on_a_busy_host_is_not_called_cold() -> None:
    epochs = (
        EpochWait(epoch=0, steps=50, wall_ms=5000, wait_ms=2400),
        EpochWait(epoch=1, steps=50, wall_ms=5000, wait_ms=490),
    )
    made = rank(shares=shares(wait=0.3, forward=0.2), patterns=StepPatterns(epochs=epochs, run_steps=200))
    assert "input.cold_start" not in found(run(made, host=BUSY))
    assert "input.cold_start" in found(run(made, host=replace(BUSY, run_storage_read_mib_s=50.0)))


@pytest.mark.parametrize(
    ("at_heads", "severity"), [(0.09, None), (0.10, "warning"), (0.19, "warning"), (0.2, "critical")]
)
def test_heads_of_epochs(at_heads: float, severity: str | None) -> None:
    patterns = StepPatterns(epoch_starts=5, epoch_start_ms=200.0, run_steps=200)
    made = rank(
        shares=shares(wait=at_heads + 0.01, forward=0.2),
        epoch_start_wait=at_heads,
        patterns=patterns,
        loader=loader(num_workers=4),
    )
    finding = found(run(made)).get("input.epoch_start")
    assert (finding and finding.severity) == severity
    if finding is not None and finding.remedy is not None:
        assert finding.remedy.set == {"loader.persistent_workers": True}


def test_heads_of_epochs_with_workers_kept_or_without_any() -> None:
    patterns = StepPatterns(epoch_starts=5, epoch_start_ms=200.0, run_steps=200)
    for given in (loader(num_workers=4, persistent_workers=True), loader(num_workers=0)):
        made = rank(
            shares=shares(wait=0.31, forward=0.2), epoch_start_wait=0.3, patterns=patterns, loader=given
        )
        judgement = judge(run(made))
        assert [f.code for f in judgement.findings] == ["input.epoch_start"]
        sentence, remedy = judgement.findings[0].sentence, judgement.findings[0].remedy
        assert remedy is not None
        assert remedy.set == {}
        assert ("nothing is loaded ahead" in sentence) is bool(given.num_workers)
        assert ("longer" if given.num_workers else "once") in (remedy.advice or "")


def _kept(*, heads: float, cpu: float, steady: float = 0.35) -> RankSignals:
    """Two workers that are kept over epochs, and a sampler that takes long at the head of each."""
    place = StackPlace(area="loader", at="data.py:27 Texts.__getitem__", line="words = split(text)", count=40)
    made = rank(
        step_ms=5.0,
        shares=shares(wait=heads + steady, forward=0.05),
        epoch_start_wait=heads,
        patterns=StepPatterns(epoch_starts=5, epoch_start_ms=200.0, run_steps=200),
        loader=loader(num_workers=2, persistent_workers=True),
        workers=workers(2, cpu_share=cpu, cpu_wait_share=0.05),
        facts=facts(stacks=stacks(100, place, loader=80, model=20)),
    )
    return replace(made, cpu_share=0.6)


def test_a_slow_sampler_is_no_matter_of_the_number_of_kept_workers() -> None:
    """Figures of such a script on two cores: nothing that the workers do follows from the sampler's time."""
    first, second = judge(run(_kept(heads=0.45, cpu=0.15), host=_FULL)).findings
    assert (first.code, first.share, first.under) == ("input.epoch_start", 0.45, None)
    assert "while the sampler is at work" in first.sentence
    assert first.remedy is not None
    assert first.remedy.at == "data.py:27 Texts.__getitem__"
    assert (second.code, second.under) == ("input.too_many_workers", None)


@pytest.mark.parametrize(
    ("heads", "code"),
    [(0.0, "input.too_many_workers"), (0.56, "input.item")],
    ids=["idle all the time", "idle only while the sampler begins"],
)
def test_kept_workers_idle_while_the_sampler_begins(heads: float, code: str) -> None:
    """0.34 of a core over all the time is 0.77 of one between the heads."""
    made = _kept(heads=heads, cpu=0.34)
    assert code in found(run(made, host=_FULL))
    assert ("input.item" in found(run(made, host=_FULL))) is (code == "input.item")


@pytest.mark.parametrize(
    ("samples", "settled"),
    [(0, "a profile window"), (19, "a longer profile window"), (20, "a profile window")],
)
def test_a_window_that_saw_too_little_of_the_workers_must_be_longer(samples: int, settled: str) -> None:
    stacks_seen = WorkerStacks(rank=0, pid=9, number=0, samples=samples)
    busy = replace(_starved(2, cpu_share=0.9, cpu_wait_share=0.0), worker_stacks=(stacks_seen,))
    finding = lead(run(busy, host=_FULL))
    assert finding.code == "input.item"
    assert (finding.unsure or "").startswith(settled)


@pytest.mark.parametrize(("asleep", "code"), [(0.49, "input.workers"), (0.5, "input.storage")])
def test_workers_that_the_kernel_has_waiting_for_a_socket(asleep: float, code: str) -> None:
    finding = lead(run(_starved(3, cpu_share=0.05, cpu_wait_share=0.0, socket_share=asleep), host=_FULL))
    assert finding.code == code
    assert ("other end of a network connection" in finding.sentence) is (code == "input.storage")
    assert finding.remedy is not None
    assert ("local disk" in (finding.remedy.advice or "")) is (code == "input.storage")
    assert "one request at a time" in (finding.remedy.caution or "")


@pytest.mark.parametrize(
    ("run_busy", "cpu_busy", "waits"), [(0.9, 0.95, True), (0.9, 1.9, False), (1.0, 1.1, False)]
)
def test_idle_cores_tell_that_unseen_workers_wait_unless_others_use_them(
    run_busy: float, cpu_busy: float, waits: bool
) -> None:
    host = replace(_FULL, run_busy=run_busy, cpu_busy=cpu_busy)
    unseen = replace(_starved(2, cpu_share=None), workers=None)
    finding = lead(run(unseen, host=host))
    assert ("waits for something" in finding.sentence) is waits
    assert finding.code == ("input.workers" if waits else "input.item")


def test_workers_that_compute_do_not_wait_for_a_socket() -> None:
    made = _starved(2, cpu_share=POLICY.worker_busy, cpu_wait_share=0.0, socket_share=0.9)
    assert lead(run(made, host=_FULL)).code == "input.item"
