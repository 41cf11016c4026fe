"""What a batch costs beside its samples: putting it together, taking it over; and what workers win."""

from dataclasses import replace

import msgspec.structs
import pytest

from perftui.ipc.facts import BatchFacts, BatchSignature, RankFacts, StackPlace, TensorFacts
from perftui.ipc.loader_facts import LoadingFacts
from perftui.ipc.trace_report import OperatorFigures, RankReport
from perftui.ipc.worker_stacks import WorkerFrame, WorkerStacks
from perftui.trainer.diagnosis import POLICY, judge
from perftui.trainer.diagnosis.batch_costs import collating_in_workers
from perftui.trainer.diagnosis.readiness import won_share
from perftui.trainer.diagnosis.signals import HostSignals, RankSignals, StepPatterns

from .made import BUSY, QUIET, facts, found, lead, loader, rank, run, shares, stacks, workers

_FULL = replace(QUIET, cpus=2.0, cores=2.0, online=2, cpu_busy=1.9, run_busy=1.9)
_TORCH = "/venv/lib/python3.12/site-packages/torch/utils/data/"


def _fed(
    *, wait: float = 0.9, cpu: float = 0.1, step_ms: float = 100.0, cpu_share: float = 0.3, **more: float
) -> RankSignals:
    seen = workers(2, **{"cpu_share": cpu_share, "cpu_wait_share": 0.0, **more})
    parts = shares(wait=wait, forward=0.02, optimizer=0.02)
    return rank(step_ms=step_ms, shares=parts, loader=loader(num_workers=2), workers=seen, cpu_share=cpu)


# --- handing over ---


@pytest.mark.parametrize(
    ("cpu", "seen"),
    [(0.1 + 0.9 * POLICY.takes_over - 0.01, False), (0.1 + 0.9 * POLICY.takes_over + 0.01, True)],
)
def test_a_thread_that_computes_while_it_waits_takes_batches_over(cpu: float, seen: bool) -> None:
    finding = lead(run(_fed(cpu=cpu)))
    assert (finding.code == "input.collate") is seen
    assert ("take over" in finding.sentence) is seen


def test_a_thread_that_starts_workers_does_not_take_batches_over() -> None:
    starting = replace(_fed(cpu=0.7), epoch_start_wait=0.6)
    assert found(run(starting)).keys().isdisjoint({"input.collate"})


def test_the_pieces_of_a_batch_are_told_where_they_were_seen() -> None:
    one = TensorFacts(shape=[64], dtype="float64", device="cpu")
    batch = BatchFacts(looked=2, newest=BatchSignature(tensors=[one] * 8, more=True), distinct_shapes=1)
    finding = lead(run(replace(_fed(cpu=0.7), facts=facts(batch=batch))))
    assert "of more than 8 tensors" in finding.sentence
    assert finding.remedy is not None
    assert finding.remedy.set == {}
    assert "one tensor or array for each field" in (finding.remedy.advice or "")


@pytest.mark.parametrize(
    ("own", "pieces", "code"),
    [(0.19, True, "input.collate"), (0.17, True, "input.workers"), (0.19, False, "input.workers")],
)
def test_on_a_busy_host_the_thread_is_set_against_a_worker(own: float, pieces: bool, code: str) -> None:
    one = TensorFacts(shape=[64], dtype="float64", device="cpu")
    batch = BatchFacts(looked=2, newest=BatchSignature(tensors=[one] * 8, more=pieces), distinct_shapes=1)
    made = replace(_fed(cpu=own, cpu_share=0.08), facts=facts(batch=batch))
    assert code in found(run(made, host=BUSY))
    assert "input.collate" not in found(run(made))


@pytest.mark.parametrize(
    "figures",
    [
        {"cpu_share": POLICY.worker_busy},
        {"cpu_wait_share": POLICY.worker_cpu_wait},
        {"blocked_share": POLICY.blocked_share},
    ],
)
def test_workers_that_have_enough_to_do_themselves_are_the_cause(figures: dict[str, float]) -> None:
    assert lead(run(_fed(cpu=0.9, **figures), host=_FULL)).code != "input.collate"


def test_the_cost_of_handing_small_batches_over_is_no_want_of_workers() -> None:
    finding = lead(run(_fed(wait=0.58, cpu=0.77, step_ms=1.4, cpu_share=0.08)))
    assert (finding.code, finding.severity) == ("input.too_many_workers", "warning")
    assert finding.remedy is not None
    assert finding.remedy.set == {"loader.num_workers": 0}


# --- collating in workers ---


def _frame(function: str, file: str, own: float, total: float) -> WorkerFrame:
    return WorkerFrame(function=function, file=file, line=9, self_share=own, total_share=total)


def _stacked(samples: int, *frames: WorkerFrame) -> WorkerStacks:
    base = (
        _frame("_worker_loop", _TORCH + "_utils/worker.py", 0.0, 1.0),
        _frame("DataLoader.__iter__", _TORCH + "dataloader.py", 0.0, 1.0),
    )
    return WorkerStacks(rank=0, pid=1, number=0, samples=samples, frames=[*base, *frames])


_PUTTING = (
    _frame("_MapDatasetFetcher.fetch", _TORCH + "_utils/fetch.py", 0.05, 0.8),
    _frame("collate", "/home/me/train.py", 0.6, 0.6),
    _frame("Tokens.__getitem__", "/home/me/train.py", 0.15, 0.15),
)


def test_workers_that_mostly_collate() -> None:
    busy = replace(_fed(cpu_share=0.95), worker_stacks=(_stacked(40, *_PUTTING),))
    finding = lead(run(busy, host=_FULL))
    assert (finding.code, finding.severity) == ("input.collate", "critical")
    assert "75 % of the time they work on a batch" in finding.sentence
    assert finding.remedy is not None
    assert finding.remedy.at == "/home/me/train.py:9 collate"


def test_workers_that_mostly_make_samples() -> None:
    decoding = (
        _frame("_MapDatasetFetcher.fetch", _TORCH + "_utils/fetch.py", 0.0, 0.9),
        _frame("Photos.__getitem__", "/home/me/train.py", 0.6, 0.6),
        _frame("pad", "/home/me/train.py", 0.3, 0.3),
    )
    busy = replace(_fed(cpu_share=0.95), worker_stacks=(_stacked(40, *decoding),))
    assert lead(run(busy, host=_FULL)).code == "input.item"


def _timed(collating: float, loader: int = 0) -> RankFacts:
    fetch_s, collate_s = 100 * (1 - collating), 100 * collating
    return facts(loading=LoadingFacts(loader=loader, batches=99, fetch_s=fetch_s, collate_s=collate_s))


@pytest.mark.parametrize(
    ("collating", "of_loader", "code"),
    [
        (POLICY.collating_timed, 0, "input.collate"),
        (POLICY.collating_timed - 0.01, 0, "input.item"),
        (POLICY.collating_timed, 1, "input.item"),
    ],
)
def test_workers_that_time_their_batches_need_no_window(collating: float, of_loader: int, code: str) -> None:
    busy = replace(_fed(cpu_share=0.95), facts=_timed(collating, of_loader))
    finding = lead(run(busy, host=_FULL))
    assert finding.code == code
    share = [each.value for each in finding.evidence if "collating" in each.name]
    assert share == ([] if of_loader else [pytest.approx(collating)])
    if code == "input.collate":
        assert "50 % of the time they work on a batch" in finding.sentence
    elif not of_loader:
        assert "they compute all the time, 51 % of it to fetch samples" in finding.sentence


@pytest.mark.parametrize(
    ("figures", "host", "code"),
    [
        ({"cpu_share": 0.95}, replace(_FULL, run_storage_read_mib_s=POLICY.storage_mib_s), "input.item"),
        ({"cpu_share": 0.1, "blocked_share": 0.5}, _FULL, "input.storage"),
        ({"cpu_share": 0.1}, _FULL, "input.workers"),
        ({"cpu_share": 0.5}, _FULL, "input.collate"),
        ({"cpu_share": 0.1, "cpu_wait_share": 0.5}, _FULL, "input.collate"),
    ],
)
def test_putting_together_that_waits_for_something_is_not_blamed(
    figures: dict[str, float], host: HostSignals, code: str
) -> None:
    """Samples that are views of a file are read when they are copied into the batch."""
    assert lead(run(replace(_fed(**figures), facts=_timed(0.9)), host=host)).code == code


def test_workers_whose_cpu_was_not_seen_have_their_times() -> None:
    unseen = replace(_fed(), workers=None, facts=_timed(0.9))
    assert lead(run(unseen, host=_FULL)).code == "input.collate"
    assert lead(run(replace(unseen, facts=_timed(0.4)), host=_FULL)).code != "input.collate"


@pytest.mark.parametrize(
    ("collate", "tensors", "told", "advice"),
    [
        ("join", 2, "building the batch (collate_fn join) takes", "not from Python lists"),
        ("default_collate", 2, "building the batch takes", "copy fewer bytes"),
        ("default_collate", 9, "building the batch takes", "not from Python lists"),
    ],
)
def test_what_puts_samples_together_is_named_and_what_it_is_given(
    collate: str, tensors: int, told: str, advice: str
) -> None:
    one = TensorFacts(shape=[64], dtype="float32", device="cpu")
    timed = _timed(0.9)
    assert timed.loading is not None
    known = msgspec.structs.replace(
        timed,
        loading=msgspec.structs.replace(timed.loading, collate=collate),
        batch=BatchFacts(looked=2, newest=BatchSignature(tensors=[one] * tensors), distinct_shapes=1),
    )
    finding = lead(run(replace(_fed(cpu_share=0.95), facts=known), host=_FULL))
    assert finding.code == "input.collate"
    assert told in finding.sentence
    assert finding.remedy is not None
    assert advice in (finding.remedy.advice or "")


def test_times_stand_before_looks() -> None:
    busy = replace(_fed(cpu_share=0.95), worker_stacks=(_stacked(40, *_PUTTING),))
    assert lead(run(replace(busy, facts=_timed(0.3)), host=_FULL)).code == "input.item"
    told = lead(run(replace(busy, facts=_timed(0.8)), host=_FULL))
    assert "80 % of the time they work on a batch" in told.sentence


@pytest.mark.parametrize(("collating", "code"), [(0.6, "input.collate"), (0.3, "input.workers")])
@pytest.mark.parametrize("looked", [False, True])
def test_a_thread_without_workers_times_its_batches(collating: float, code: str, looked: bool) -> None:
    place = StackPlace(area="collate", at="train.py:7 rows", line="return torch.tensor(rows)", count=28)
    seen = stacks(100, place, collate=40, dataset=10, model=50) if looked else None
    told = msgspec.structs.replace(_timed(collating), stacks=seen)
    alone = rank(shares=shares(wait=0.5, forward=0.15), loader=loader(num_workers=0), facts=told)
    finding = lead(run(alone))
    assert finding.code == code
    if code == "input.collate":
        assert "60 % of it is building the batch" in finding.sentence


def test_a_thread_that_copies_samples_is_told_to_copy_less() -> None:
    at = "/venv/torch/utils/data/_utils/collate.py:275 collate_tensor_fn"
    place = StackPlace(area="collate", at=at, line="return torch.stack(batch, 0, out=out)", count=37)
    told = msgspec.structs.replace(_timed(0.9), stacks=stacks(100, place, collate=38, loader=10, model=52))
    alone = rank(shares=shares(wait=0.5, forward=0.15), loader=loader(num_workers=0), facts=told)
    remedy = lead(run(alone)).remedy
    assert remedy is not None
    assert "copy fewer bytes" in (remedy.advice or "")
    stored = replace(QUIET, run_storage_read_mib_s=POLICY.storage_mib_s)
    assert lead(run(alone, host=stored)).code != "input.collate"


def test_a_dataset_within_a_dataset_counts_once() -> None:
    nested = (
        _frame("_MapDatasetFetcher.fetch", _TORCH + "_utils/fetch.py", 0.0, 0.9),
        _frame("Subset.__getitems__", _TORCH + "dataset.py", 0.0, 0.3),
        _frame("Photos.__getitem__", "/home/me/train.py", 0.3, 0.3),
        _frame("pad", "/home/me/train.py", 0.6, 0.6),
    )
    share = collating_in_workers(replace(_fed(), worker_stacks=(_stacked(40, *nested),)), POLICY)
    assert share == pytest.approx(0.6 / 0.9)


@pytest.mark.parametrize(
    "seen",
    [
        _stacked(POLICY.worker_looks - 1, *_PUTTING),
        _stacked(40, _frame("_PollLikeSelector.select", "/usr/lib/python3.12/selectors.py", 1.0, 1.0)),
        _stacked(0),
    ],
)
def test_too_few_looks_or_idle_workers_say_nothing_of_collating(seen: WorkerStacks) -> None:
    assert collating_in_workers(replace(_fed(), worker_stacks=(seen,)), POLICY) is None
    assert collating_in_workers(_fed(), POLICY) is None


def test_stacking_tensors_in_the_training_thread_is_not_blamed() -> None:
    at = "/venv/torch/utils/data/_utils/collate.py:275 collate_tensor_fn"
    place = StackPlace(area="collate", at=at, line="return torch.stack(batch, 0, out=out)", count=37)
    seen = facts(stacks=stacks(100, place, collate=38, loader=10, dataset=2, model=50))
    made = rank(shares=shares(wait=0.5, forward=0.15), facts=seen)
    assert lead(run(made)).code == "input.workers"


# --- what workers can win ---


@pytest.mark.parametrize(
    ("wait", "step_ms", "changes", "won"),
    [
        (0.12, 21.3, {}, 0.12 - 1.3 / 21.3),
        (0.5, 2.0, {}, 0.0),
        (0.5, 100.0, {"batches_per_epoch": 4}, 0.5 * 0.75 - 0.013),
        (0.5, 100.0, {"batches_per_epoch": None}, 0.487),
        (0.5, 2.0, {"num_workers": 2}, 0.5),
    ],
)
def test_workers_win_the_wait_but_for_handing_over(
    wait: float, step_ms: float, changes: dict[str, object], won: float
) -> None:
    made = rank(step_ms=step_ms, shares=shares(wait=wait, forward=0.1), loader=loader(**changes))
    plain = replace(made, loader=loader(**{"batches_per_epoch": None, **changes}))
    assert won_share(plain, POLICY) == pytest.approx(max(0.0, won), abs=1e-6)


def test_each_micro_batch_is_handed_over() -> None:
    made = rank(shares=shares(wait=0.5), patterns=StepPatterns(run_steps=200, micro_batches=10.0))
    assert won_share(replace(made, loader=loader(batches_per_epoch=None)), POLICY) == pytest.approx(0.37)


def test_loading_that_workers_would_not_make_shorter_is_healthy() -> None:
    made = rank(step_ms=21.3, shares=shares(wait=0.12, forward=0.32))
    findings = judge(run(made)).findings
    assert [finding.code for finding in findings] == ["compute.bound"]
    assert findings[0].sentence.startswith(
        "Loading takes 12 % of a step, too little for worker processes to win"
    )


def test_a_larger_share_is_told_as_a_remark_without_workers() -> None:
    finding = found(run(rank(step_ms=1.4, shares=shares(wait=0.22, forward=0.2))))["input.workers"]
    assert (finding.severity, finding.remedy and finding.remedy.set) == ("info", {})
    fewer = rank(step_ms=1.4, shares=shares(wait=0.19, forward=0.2))
    assert "input.workers" not in found(run(fewer))


# --- what only a window measures ---


def _crowd(fetching: float, count: int, *, more: bool = True) -> RankSignals:
    frames = (_frame("_MapDatasetFetcher.fetch", _TORCH + "_utils/fetch.py", 0.0, fetching),)
    seen = _stacked(POLICY.worker_looks, *frames)
    made = _fed(wait=0.7, cpu=0.72, step_ms=6.0, cpu_share=0.12)
    return replace(made, loader=loader(num_workers=count), worker_stacks=(seen,) if more else ())


@pytest.mark.parametrize(
    ("fetching", "count", "more", "code"),
    [
        (0.0, 4, True, "input.too_many_workers"),  # (0 + 1) / 20 of 4 workers: 0.2 of a step, under 0.42
        (0.05, 4, True, "input.too_many_workers"),
        (0.10, 4, True, "input.collate"),
        (0.0, 3, True, "input.collate"),  # fewer than twice the cores
        (0.0, 4, False, "input.collate"),
    ],
)
def test_a_crowd_that_makes_batches_faster_than_they_are_taken_over(
    fetching: float, count: int, more: bool, code: str
) -> None:
    assert lead(run(_crowd(fetching, count, more=more), host=_FULL)).code == code


@pytest.mark.parametrize(("self_ms", "seen"), [(63.9, False), (64.1, True)])
def test_stacking_that_only_the_loading_can_hold(self_ms: float, seen: bool) -> None:
    """Of 100 ms 90 are loading: 10 may be stacking of the model's, and 0.6 of the 90 are 54."""
    copying = OperatorFigures(
        name="aten::cat", count=3, total_us=1e3 * self_ms, self_us=1e3 * self_ms, device_us=None,
        self_device_us=None, share=0.9, host_per_device=None,
    )  # fmt: skip
    window = RankReport(rank=0, path="trace.json", window_ms=100.0, operators=[copying])
    alone = replace(_fed(cpu=0.97), loader=loader(num_workers=0), workers=None, report=window)
    finding = lead(run(alone))
    assert (finding.code == "input.collate") is seen
    if seen:
        assert finding.remedy is not None
        assert "the type they are stored in" in (finding.remedy.advice or "")
        assert "loader.num_workers" in finding.remedy.set


@pytest.mark.parametrize(("within", "code"), [(0.49, "input.workers"), (0.51, "input.storage")])
def test_idle_workers_within_a_connection_wait_for_a_store(within: float, code: str) -> None:
    seen = _stacked(100, _frame("SSLSocket.read", "/usr/lib/python3.12/ssl.py", within, within))
    assert lead(run(replace(_fed(cpu_share=0.05), worker_stacks=(seen,)))).code == code
