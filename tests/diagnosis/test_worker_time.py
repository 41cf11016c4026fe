"""What workers are said to be at: making batches, as they time it, or waiting for one another at a lock."""

from dataclasses import replace

import pytest

from perftui.ipc.facts import StackPlace
from perftui.ipc.loader_facts import LoadingFacts
from perftui.ipc.worker_stacks import WorkerFrame, WorkerStacks
from perftui.trainer.diagnosis import POLICY
from perftui.trainer.diagnosis.signals import FactsChange, HostSignals, RankSignals, StepPatterns
from perftui.trainer.diagnosis.worker_time import making_ms, making_share

from .made import BUSY, QUIET, facts, found, lead, loader, rank, remedy_of, run, shares, stacks, workers

_TWO_CORES = replace(QUIET, cpus=2.0, cores=2.0, online=2, cpu_busy=1.6, run_busy=1.6)
_SLOWLY = "more slowly than the model takes them"
_EACH = "each sample waits for something"


def _made(batch_ms: float, batches: int = 1000, index: int = 0) -> LoadingFacts:
    return LoadingFacts(loader=index, batches=batches, fetch_s=batches * batch_ms / 1e3, collate_s=0.0)


def _timed(batch_ms: float, count: int = 12, **changes: object) -> RankSignals:
    """Half of each step of 20 ms is waiting for workers that need so long for a batch and hardly compute."""
    made = rank(
        step_ms=20.0,
        shares=shares(wait=0.5, forward=0.15),
        loader=loader(num_workers=count),
        workers=workers(count, cpu_share=0.03, cpu_wait_share=0.0, lock_share=0.0),
        facts=facts(loading=_made(batch_ms)),
        cpu_share=0.5,
    )
    return replace(made, **changes)  # type: ignore[arg-type]


# --- batches that are made in time ---


def test_workers_that_idle_are_not_said_to_be_slow() -> None:
    finding = lead(run(_timed(1.3), host=_TWO_CORES))
    assert (finding.code, finding.severity) == ("input.too_many_workers", "warning")
    assert "although 12 workers prepare batches" in finding.sentence
    assert "in 1.3 ms and have none to make for 99 % of the time" in finding.sentence
    assert _EACH not in finding.sentence
    assert remedy_of(finding).set == {"loader.num_workers": 0}
    assert {e.name: e.value for e in finding.evidence}["time of each worker spent on batches"] < 0.01


@pytest.mark.parametrize(
    ("batch_ms", "count", "code", "slowly"),
    [
        (5.0, 2, "input.too_many_workers", False),  # half of the wait of 10 ms
        (5.1, 2, "input.workers", False),
        (5.1, 12, "input.too_many_workers", False),
        (19.9, 2, "input.workers", False),  # 2 workers, 20 ms a step
        (20.0, 2, "input.workers", True),
    ],
)
def test_making_against_waiting(batch_ms: float, count: int, code: str, slowly: bool) -> None:
    finding = lead(run(_timed(batch_ms, count), host=_TWO_CORES))
    assert finding.code == code
    assert (_SLOWLY in finding.sentence) is slowly
    assert (_EACH in finding.sentence) is slowly
    handed = batch_ms <= 5.0
    assert (remedy_of(finding).set == {"loader.num_workers": 0}) is handed
    assert bool(finding.unsure) is not (handed or slowly)


def test_a_crowd_that_is_in_time_is_thinned() -> None:
    finding = lead(run(_timed(5.1, 12), host=_TWO_CORES))
    assert remedy_of(finding).set == {"loader.num_workers": 2}
    assert finding.unsure is not None


@pytest.mark.parametrize(
    "changes",
    [
        {"facts": facts()},
        {"facts": facts(loading=_made(1.3, POLICY.made_least - 1))},
        {"facts": facts(loading=_made(1.3, index=1))},
    ],
    ids=["not timed", "too few", "another loader"],
)
def test_without_times_nothing_is_concluded_from_them(changes: dict[str, object]) -> None:
    made = _timed(1.3, 2, **changes)
    assert making_share(made, POLICY) is None
    finding = lead(run(made, host=_TWO_CORES))
    assert finding.code == "input.workers"
    assert _EACH in finding.sentence


def test_times_are_of_the_last_minute() -> None:
    """A training whose batches have become dear: what they took before does not count."""
    lately = FactsChange(seconds=60.0, steps=100, loading=_made(40.0, 100))
    made = _timed(1.3, 2, change=lately)
    assert making_ms(made, POLICY) == 40.0
    finding = lead(run(made, host=_TWO_CORES))
    assert finding.code == "input.workers"
    assert _SLOWLY in finding.sentence
    few = FactsChange(seconds=60.0, steps=4, loading=_made(40.0, POLICY.made_least - 1))
    assert making_ms(_timed(1.3, 2, change=few), POLICY) == pytest.approx(1.3)


def test_heads_of_epochs_and_several_batches_a_step() -> None:
    assert making_share(_timed(8.0, 2), POLICY) == pytest.approx(0.2)
    assert making_share(_timed(8.0, 2, epoch_start_wait=0.75), POLICY) == pytest.approx(0.8)
    patterns = StepPatterns(micro_batches=4.0, run_steps=200)
    assert making_share(_timed(8.0, 2, patterns=patterns), POLICY) == pytest.approx(0.8)
    assert making_share(_timed(8.0, 0, workers=None), POLICY) is None


@pytest.mark.parametrize(("own", "handed"), [(24, True), (25, False)])
def test_a_sampler_in_the_training_thread_is_no_handing_over(own: int, handed: bool) -> None:
    place = StackPlace(area="loader", at="data.py:27 Buckets.__iter__", line="sorted(rows)", count=own)
    looks = stacks(200, place, loader=100, model=100)
    made = _timed(1.3, 2, facts=facts(loading=_made(1.3), stacks=looks))
    finding = lead(run(made, host=_TWO_CORES))
    assert (finding.code == "input.too_many_workers") is handed
    assert _SLOWLY not in finding.sentence


def test_storage_that_pickling_waits_for_stays_storage() -> None:
    seen = workers(2, cpu_share=0.03, cpu_wait_share=0.0, blocked_share=0.5)
    assert lead(run(_timed(1.3, 2, workers=seen), host=_TWO_CORES)).code == "input.storage"


def test_on_a_busy_host_who_waits_for_whom_is_open() -> None:
    finding = found(run(_timed(1.3), host=BUSY))["input.workers"]
    assert "who waits for whom is open" in finding.sentence
    assert _SLOWLY not in finding.sentence
    assert finding.remedy is None


@pytest.mark.parametrize(("batch_ms", "code"), [(5.0, "input.too_many_workers"), (9.0, "input.collate")])
def test_taking_over_against_making_as_it_is_timed(batch_ms: float, code: str) -> None:
    """The thread takes over for 6 ms of each step; a crowd on two cores, no window."""
    made = replace(_timed(batch_ms, 12), cpu_share=0.8)
    assert lead(run(made, host=_TWO_CORES)).code == code


# --- locks ---


def _locked(share: float | None, count: int = 8, cpu_share: float = 0.01) -> RankSignals:
    seen = workers(count, cpu_share=cpu_share, cpu_wait_share=0.0, lock_share=share)
    made = rank(shares=shares(wait=0.8, forward=0.05), loader=loader(num_workers=count), workers=seen)
    return replace(made, cpu_share=0.2)


@pytest.mark.parametrize(("share", "turns"), [(0.49, False), (0.5, True), (0.88, True)])
def test_workers_that_take_turns_at_a_lock(share: float, turns: bool) -> None:
    finding = lead(run(_locked(share), host=_TWO_CORES))
    assert finding.code == ("input.storage" if turns else "input.workers")
    assert ("turns at a lock" in finding.sentence) is turns
    assert bool(remedy_of(finding).set) is not turns
    assert remedy_of(finding).bound == 5.0


def test_one_worker_takes_no_turns() -> None:
    assert "lock" not in lead(run(_locked(1.0, count=1), host=_TWO_CORES)).sentence


@pytest.mark.parametrize(("cpu_share", "code"), [(0.09, "input.storage"), (0.1, "input.item")])
def test_a_lock_within_which_somebody_computes(cpu_share: float, code: str) -> None:
    """Eight workers of which one at a time computes: 0.72 and 0.8 cores together."""
    finding = lead(run(_locked(0.8, cpu_share=cpu_share), host=_TWO_CORES))
    assert finding.code == code
    assert remedy_of(finding).set == {}


def _in_window(samples: int, within: float) -> WorkerStacks:
    lock = WorkerFrame(
        function="SemLock.__enter__",
        file="/usr/lib/python3.12/multiprocessing/synchronize.py",
        line=95,
        self_share=within,
        total_share=within,
    )
    return WorkerStacks(rank=0, pid=9, number=0, samples=samples, frames=[lock])


@pytest.mark.parametrize(
    ("samples", "within", "turns"), [(20, 0.5, True), (20, 0.49, False), (19, 0.9, False)]
)
def test_a_window_shows_the_lock_as_well(samples: int, within: float, turns: bool) -> None:
    made = replace(_locked(None), worker_stacks=(_in_window(samples, within),))
    assert ("turns at a lock" in lead(run(made, host=_TWO_CORES)).sentence) is turns


_MANY = replace(QUIET, cpus=4.0, cores=4.0, online=4, cpu_busy=0.5, run_busy=0.5)


@pytest.mark.parametrize(
    ("count", "host", "share", "code", "sure"),
    [
        (3, _TWO_CORES, None, "input.workers", True),
        (4, _TWO_CORES, None, "input.storage", False),
        (4, _TWO_CORES, 0.1, "input.workers", False),
        (7, _MANY, None, "input.workers", True),
        (8, _MANY, None, "input.storage", False),
    ],
)
def test_a_crowd_that_waits_need_not_be_too_small(
    count: int, host: HostSignals, share: float | None, code: str, sure: bool
) -> None:
    finding = lead(run(_locked(share, count), host=host))
    assert finding.code == code
    assert (finding.unsure is None) is sure
    assert remedy_of(finding).set
