"""What ranks tell beside their steps, in the hub: kept, compared over time, shown."""

import json
import time
from collections.abc import Callable

import pytest

from perftui.ipc.dashboard_link import DashboardLink, new_command_id
from perftui.ipc.dashboard_messages import SummaryQuery, Update
from perftui.ipc.facts import AllocatorFacts, CompileFacts, GcFacts, OptimizerFacts, ProcessFacts, RankFacts
from perftui.ipc.loader_facts import LoadingFacts
from perftui.ipc.messages import PROTOCOL_VERSION, Facts, Hello, StepBatch
from perftui.ipc.recording import Entry
from perftui.trainer.hub.facts_log import FactsLog
from perftui.trainer.hub.fold import RunFold
from perftui.trainer.hub.run_signals import signals_of
from tests.hub.fake_rank import DEADLINE_S

from .conftest import HubProcess, until
from .fake_rank import FakeRank

START = 1000.0


def collections(total_ms: float) -> RankFacts:
    gc = GcFacts(
        counts=[1, 0, 0],
        total_ms=[total_ms, 0.0, 0.0],
        longest_ms=1.0,
        long_pauses=0,
        enabled=True,
        threshold=[700, 10, 10],
    )
    return RankFacts(gc=gc)


def allocator(retries: int, allocated_mib: float) -> RankFacts:
    return RankFacts(
        allocator=AllocatorFacts(
            device="cuda:0",
            allocated_mib=allocated_mib,
            reserved_mib=2 * allocated_mib,
            inactive_split_mib=None,
            peak_allocated_mib=allocated_mib,
            peak_reserved_mib=allocated_mib,
            alloc_retries=retries,
            ooms=0,
        )
    )


def process(rss_mib: float, file_mib: float | None) -> RankFacts:
    told = ProcessFacts(
        rss_mib=rss_mib, file_mib=file_mib, threads=4, voluntary_switches=0, involuntary_switches=0
    )
    return RankFacts(process=told)


def batches(count: int, seconds: float, loader: int = 0) -> RankFacts:
    made = LoadingFacts(loader=loader, batches=count, fetch_s=seconds, collate_s=0.1 * seconds)
    return RankFacts(loading=made)


def test_batches_that_were_made_within_a_time() -> None:
    log = FactsLog()
    log.add(START, 0, RankFacts())
    log.add(START + 10, 100, batches(100, 2.0))
    log.add(START + 20, 200, batches(300, 42.0))
    whole, lately = log.change(START + 20, 200), log.change(START + 20, 200, 10.0)
    assert whole is not None
    assert whole.loading is None  # none were timed at the beginning
    assert lately is not None
    assert lately.loading is not None
    assert (lately.loading.batches, lately.loading.fetch_s) == (200, 40.0)
    assert lately.loading.collate_s == pytest.approx(4.0)


def test_batches_of_another_loader_are_not_set_against_these() -> None:
    log = FactsLog()
    log.add(START, 0, batches(100, 2.0))
    log.add(START + 10, 100, batches(200, 4.0, loader=1))
    change = log.change(START + 10, 100)
    assert change is not None
    assert change.loading is None


@pytest.mark.parametrize(
    ("mapped_mib", "kept_mib", "rise"),
    [(15.0, 0.0, 0.0), (5.0, 600.0, 1.0), (0.0, 900.0, 1.0), (None, 900.0, 1.0)],
)
def test_pages_of_mapped_files_are_not_kept(mapped_mib: float | None, kept_mib: float, rise: float) -> None:
    """15 MiB a second, of which so much is read from a mapped file."""
    log = FactsLog()
    for second in range(61):
        of_files = None if mapped_mib is None else 100.0 + mapped_mib * second
        log.add(START + second, second, process(1_000.0 + 15.0 * second, of_files))
    change = log.change(START + 60, 60)
    assert change is not None
    assert (change.kept_mib, change.kept_rise) == (kept_mib, rise)


def test_growth_is_taken_over_the_stretch_that_is_asked_for() -> None:
    log = FactsLog()
    for second in range(200):
        log.add(START + second, 10 * second, collections(5.0 * second))
    whole = log.change(START + 199, 1990)
    assert whole is not None
    assert (whole.seconds, whole.steps, whole.gc_ms) == (199.0, 1990, 995.0)
    recent = log.change(START + 199, 1990, 60)
    assert recent is not None
    assert (recent.seconds, recent.steps, recent.gc_ms) == (60.0, 600, 300.0)
    assert (recent.recompiles, recent.alloc_retries, recent.reserved_mib) == (None, None, None)


def test_what_is_not_told_again_has_not_grown() -> None:
    log = FactsLog()
    log.add(START, 0, allocator(3, 100.0))
    log.add(START + 5, 50, allocator(7, 140.0))
    change = log.change(START + 100, 1000, 60)
    assert change is not None
    assert (change.seconds, change.alloc_retries, change.allocated_mib) == (95.0, 0, 0.0)
    whole = log.change(START + 100, 1000)
    assert whole is not None
    assert (whole.alloc_retries, whole.allocated_mib, whole.reserved_mib) == (4, 40.0, 80.0)


def test_one_moment_alone_says_nothing_of_growth() -> None:
    log = FactsLog()
    assert log.change(START, 0) is None
    log.add(START, 0, collections(3.0))
    assert log.change(START, 0) is None


def test_a_long_run_keeps_its_beginning_in_bounded_room() -> None:
    log = FactsLog()
    for second in range(100_000):
        log.add(START + second, second, collections(float(second)))
    assert len(log.points) <= 512
    whole = log.change(START + 99_999, 99_999)
    assert whole is not None
    assert (whole.seconds, whole.gc_ms) == (99_999.0, 99_999.0)
    assert log.points[-1].unix == START + 99_999
    recent = log.change(START + 99_999, 99_999, 3600)
    assert recent is not None
    assert 3600 <= recent.seconds < 3600 + 600  # as fine as the points still lie
    assert recent.gc_ms == recent.seconds


def test_rules_see_the_newest_of_each_subject_and_its_growth() -> None:
    fold = RunFold()
    hello = Hello(
        run_id="r",
        host="h",
        rank=0,
        seq=0,
        protocol=PROTOCOL_VERSION,
        pid=1,
        start_ticks=1,
        local_rank=0,
        world_size=1,
        python="3",
        torch="2",
        device="cpu",
        command=[],
        wall_offset_ns=0,
    )
    compiled = RankFacts(
        compile=CompileFacts(recompiles=1, compile_s=2.0), environment={"OMP_NUM_THREADS": "1"}
    )
    told = [compiled, collections(10.0), RankFacts(compile=CompileFacts(recompiles=4, compile_s=9.0))]
    fold.apply(Entry(unix=START, message=hello))
    for at, facts in enumerate(told, start=1):
        message = Facts(run_id="r", host="h", rank=0, seq=at, at_ns=0, facts=facts)
        fold.apply(Entry(unix=START + 10 * at, message=message))
    column = [1_000_000] * 100
    steps = StepBatch(
        run_id="r",
        host="h",
        rank=0,
        seq=4,
        first_step=0,
        end_ns=[(at + 1) * 1_000_000 for at in range(100)],
        wall_ns=column,
        wait_ns=column,
        forward_ns=column,
        backward_ns=column,
        optimizer_ns=column,
        cpu_ns=column,
        samples=column,
        micro_batches=[1] * 100,
        epoch=[0] * 100,
        flags=[0] * 100,
    )
    fold.apply(Entry(unix=START + 31, message=steps))
    (signals,) = signals_of(fold).ranks
    assert signals.facts.environment == {"OMP_NUM_THREADS": "1"}
    assert signals.facts.gc == collections(10.0).gc
    assert signals.facts.compile is not None
    assert signals.facts.compile.recompiles == 4
    assert signals.change is not None
    assert (signals.change.seconds, signals.change.steps) == (21.0, 100)
    assert (signals.change.recompiles, signals.change.compile_s) == (3, 7.0)
    assert signals.change.gc_ms is None  # not known at the beginning


def test_dashboards_are_told_facts_when_they_change(
    hub: HubProcess, rank: FakeRank, link: DashboardLink
) -> None:
    hub.start()
    rank.hello()
    rank.steps(20)
    rank.facts(RankFacts(environment={"NCCL_DEBUG": "INFO"}, missing={"allocator": "no CUDA"}))
    rank.event("gc", 7, "full garbage collection, 30 ms")
    rank.event("allocator", 8, "no memory was free")
    first = until(link, lambda u: bool(u.view.ranks) and u.view.ranks[0].facts != RankFacts())
    assert first.view.ranks[0].facts == RankFacts(
        environment={"NCCL_DEBUG": "INFO"}, missing={"allocator": "no CUDA"}
    )
    marks = until(link, lambda u: len(u.marks) == 2).marks
    assert [(mark.event, mark.step) for mark in marks] == [("gc", 7), ("allocator", 8)]
    rank.steps(1)
    after = pulled(link, lambda u: bool(u.view.ranks))
    assert (after.view.ranks[0].steps, after.view.ranks[0].facts) == (21, None)
    rank.facts(collections(4.0))
    again = pulled(link, lambda u: bool(u.view.ranks))
    facts = again.view.ranks[0].facts
    assert facts is not None
    assert (facts.gc, facts.environment) == (collections(4.0).gc, {"NCCL_DEBUG": "INFO"})


def pulled(link: DashboardLink, true_of: Callable[[Update], bool]) -> Update:
    """Pull increments until one fits."""
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        link.pull()
        message = link.receive(1000)
        if isinstance(message, Update) and true_of(message):
            assert not message.snapshot
            return message
        time.sleep(0.05)
    raise AssertionError("never came true")


def test_the_summary_and_a_hub_that_was_killed_know_the_facts(
    hub: HubProcess, rank: FakeRank, link: DashboardLink
) -> None:
    hub.start()
    rank.hello()
    rank.steps(20)
    adam = OptimizerFacts(kind="Adam", groups=1, tensors=2, parameters=8, lr=0.1, flags={"fused": None})
    rank.facts(RankFacts(optimizers=[adam], missing={"compile": "nothing was compiled so far"}))
    until(link, lambda u: bool(u.view.ranks) and u.view.ranks[0].facts != RankFacts())
    hub.kill()
    hub.start()
    until(link, lambda u: bool(u.view.ranks) and u.view.ranks[0].steps == 20)
    summary = json.loads(link.ask(SummaryQuery(command_id=new_command_id()), 5.0).result)
    facts = summary["ranks"][0]["facts"]
    assert facts["optimizers"] == [
        {"kind": "Adam", "groups": 1, "tensors": 2, "parameters": 8, "lr": 0.1, "flags": {"fused": None}}
    ]
    assert facts["compile"] is None
    assert facts["missing"] == {"compile": "nothing was compiled so far"}
