"""What is told, when, and with which step."""

import time
import weakref
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
import torch

from perftui.ipc.facts import SUBJECTS, AllocatorFacts, RankFacts, merged
from perftui.ipc.messages import Facts, RankEvent
from perftui.ipc.step_record import StepRecord
from perftui.trainer.probe import effective as effective_module
from perftui.trainer.probe import facts as facts_module
from perftui.trainer.probe.allocator_reading import AllocatorReader
from perftui.trainer.probe.batch_signature import BatchBook
from perftui.trainer.probe.border import Border
from perftui.trainer.probe.compile_reading import CompileReader
from perftui.trainer.probe.effective import read_in_force
from perftui.trainer.probe.facts import EVENTS_AT_ONCE, UNREADABLE, FactsTeller
from perftui.trainer.probe.happening import Happening
from perftui.trainer.probe.live_objects import LiveObjects
from perftui.trainer.probe.loader_settings import LoaderBook
from perftui.trainer.probe.recorder import Recorder
from perftui.trainer.probe.step_times import StepTimes

pytestmark = pytest.mark.torch

SECOND = 1_000_000_000


class Rank:
    """A recorder and what tells of it; time is said, not measured."""

    def __init__(self) -> None:
        self.recorder = Recorder(Border(), LoaderBook({}), lambda: None)
        self.times = StepTimes()
        self.teller = FactsTeller(self.recorder, time.time_ns() - time.perf_counter_ns(), self.times)
        self.now_ns = 1000 * SECOND
        self.loader: int | None = None
        """Key of the training loader."""

    def read(self, after_s: float = 0.0, *, at_end: bool = False) -> list[Facts | RankEvent]:
        self.now_ns += int(after_s * SECOND)
        in_force = read_in_force(self.recorder, {})
        if self.loader is not None:
            in_force = replace(in_force, loader=self.recorder.book.facts(self.loader))
        return self.teller.read(self.now_ns, in_force, at_end=at_end)

    def facts(self, after_s: float = 0.0) -> RankFacts:
        (message,) = [one for one in self.read(after_s) if isinstance(one, Facts)]
        return message.facts

    def close(self) -> None:
        self.teller.close()


@pytest.fixture
def live(monkeypatch: pytest.MonkeyPatch) -> LiveObjects:
    objects = LiveObjects()
    monkeypatch.setattr(facts_module, "live_objects", objects)
    return objects


@pytest.fixture
def rank(live: LiveObjects) -> Iterator[Rank]:
    rank = Rank()
    yield rank
    rank.close()


def told(facts: RankFacts) -> set[str]:
    return {name for name in SUBJECTS if getattr(facts, name) is not None} | set(facts.missing)


@pytest.mark.parametrize(("peak_mib", "device"), [(64, "cuda:3"), (0, "cpu"), (None, "cpu")])
def test_parameters_kept_on_the_cpu_are_of_the_gpu_that_has_tensors(
    rank: Rank, monkeypatch: pytest.MonkeyPatch, peak_mib: int | None, device: str
) -> None:
    """As with DeepSpeed's ZeRO-Offload: the optimizer's parameters are on the CPU, the model is not."""
    amount = {"all": {"current": 0, "peak": (peak_mib or 0) * 2**20}}
    stats = {"allocated_bytes": amount, "reserved_bytes": amount, "num_alloc_retries": 0, "num_ooms": 0}
    found = None if peak_mib is None else ("cuda:3", stats)

    def nested(_device: int | None) -> tuple[str, dict[str, Any]] | None:
        return found

    def uuid(_device: torch.device | None) -> None:
        """There is no such GPU."""

    monkeypatch.setattr(effective_module, "nested_stats", nested)
    monkeypatch.setattr(effective_module, "_uuid", uuid)
    optimizer = torch.optim.SGD(torch.nn.Linear(2, 2).parameters(), lr=0.1)
    rank.recorder.note_optimizer(optimizer)
    assert read_in_force(rank.recorder, {}).device == device


def test_first_all_is_told_with_a_reason_for_each_that_is_not_known(rank: Rank) -> None:
    facts = rank.facts()
    assert told(facts) == set(SUBJECTS)
    assert {name for name in SUBJECTS if getattr(facts, name) is None} == set(facts.missing)
    assert facts.missing["optimizers"] == "no optimizer of torch was built"
    assert UNREADABLE not in facts.missing.values()
    assert facts.environment is not None
    assert rank.recorder.border.errors == 0


def test_then_only_what_changed(rank: Rank, live: LiveObjects, monkeypatch: pytest.MonkeyPatch) -> None:
    rank.facts()
    monkeypatch.setenv("NCCL_DEBUG", "TRACE")
    changed = {name for message in rank.read(1) if isinstance(message, Facts) for name in told(message.facts)}
    assert changed <= {"gc"}  # read each second; the others are not due
    later = rank.facts(10)
    assert told(later) - {"gc", "process"} == {"environment", "own_environment"}
    assert later.environment is not None
    assert later.environment["NCCL_DEBUG"] == "TRACE"


def test_all_is_told_again_after_a_hello_and_each_minute(rank: Rank) -> None:
    rank.facts()
    rank.read(1)
    rank.teller.forget()
    assert told(rank.facts(1)) == set(SUBJECTS)
    assert told(rank.facts(60)) == set(SUBJECTS)


def test_objects_that_come_are_told_and_when_they_go_the_last_reading_stays(
    rank: Rank, live: LiveObjects
) -> None:
    rank.facts()
    optimizer: Any = torch.optim.SGD(torch.nn.Linear(3, 2).parameters(), 0.1)
    live.optimizers.note(optimizer)
    facts = rank.facts(60)
    assert facts.model is not None
    assert facts.model.parameters == 8
    assert facts.optimizers is not None
    assert [one.kind for one in facts.optimizers] == ["SGD"]
    del optimizer
    again = rank.facts(60)
    assert again.model == facts.model
    assert again.optimizers == facts.optimizers


def test_an_optimizer_that_was_not_seen_built_counts_when_it_steps(rank: Rank) -> None:
    optimizer = torch.optim.SGD(torch.nn.Linear(3, 2).parameters(), 0.1)
    rank.recorder.optimizer = weakref.ref(optimizer)
    facts = rank.facts()
    assert facts.optimizers is not None
    assert facts.optimizers[0].parameters == 8


def test_batches_are_told_once_the_recorder_looks_at_them(rank: Rank) -> None:
    recorder: Any = rank.recorder
    recorder.batch_book = BatchBook(recorder.book.index_of)
    loader = torch.utils.data.DataLoader([torch.zeros(3)] * 4, batch_size=2)  # type: ignore[arg-type,var-annotated]
    key = recorder.book.note(loader)
    for batch in loader:
        recorder.batch_book.look(key, batch)
    rank.loader = key
    facts = rank.facts()
    assert facts.batch is not None
    assert (facts.batch.looked, facts.batch.distinct_shapes) == (2, 1)
    assert facts.batch.newest.tensors[0].shape == [2, 3]
    assert facts.sampling is not None
    assert facts.sampling.sampler == "SequentialSampler"


def test_what_cannot_be_read_costs_its_own_subject(rank: Rank, live: LiveObjects) -> None:
    class Odd:
        @property
        def param_groups(self) -> list[dict[str, Any]]:
            raise OSError("not today")

    odd = Odd()
    live.optimizers.note(odd)
    facts = rank.facts()
    assert facts.missing["model"] == facts.missing["optimizers"] == UNREADABLE
    assert facts.backends is not None
    assert rank.recorder.border.errors == 2


def finished(first: int, count: int) -> list[StepRecord]:
    return [
        StepRecord(step, 1000 * SECOND + (step + 1) * SECOND, SECOND, 0, 0, 0, 0, 0, 0, 1, 0, 0)
        for step in range(first, first + count)
    ]


def giving(happened: list[Happening]) -> Callable[[object], list[Happening]]:
    def take(_reader: object) -> list[Happening]:
        return happened

    return take


def test_what_happens_gets_the_step_it_happened_in(rank: Rank, monkeypatch: pytest.MonkeyPatch) -> None:
    rank.times.note(finished(0, 3))
    at = [1000 * SECOND - 5, 1001 * SECOND + 7, 1003 * SECOND + 1, 2000 * SECOND]
    happened = [Happening(at_ns, "allocator", f"at {at_ns}", 9) for at_ns in at]
    monkeypatch.setattr(AllocatorReader, "take_happenings", giving(happened))
    events = [one for one in rank.read(4) if isinstance(one, RankEvent)]
    assert [event.step for event in events] == [0, 1, 3, 3]
    assert events[-1].at_ns == rank.now_ns  # nothing lies ahead
    assert {event.duration_ns for event in events} == {9}
    assert events[0].event == "allocator"


def test_a_flood_of_events_is_dammed(rank: Rank, monkeypatch: pytest.MonkeyPatch) -> None:
    happened = [Happening(at, "compile", "compiled f", 1) for at in range(100)]
    monkeypatch.setattr(CompileReader, "take_happenings", giving(happened))

    def passed(after_s: float) -> int:
        return sum(isinstance(one, RankEvent) for one in rank.read(after_s))

    assert passed(0) == EVENTS_AT_ONCE
    assert passed(1) == 0
    assert passed(29) == 3
    assert passed(3600) == EVENTS_AT_ONCE


def test_steps_long_gone_are_not_guessed() -> None:
    times = StepTimes()
    assert times.step_at(5) == 0
    for first in range(0, 20_000, 1000):
        times.note(finished(first, 1000))
    assert times.step_at(1000 * SECOND) == -1
    assert times.step_at(1000 * SECOND + 19_999 * SECOND + 1) == 19_999
    assert times.step_at(10**18) == 20_000


def test_merging_keeps_what_is_not_told() -> None:
    allocator = AllocatorFacts(
        device="cuda:0",
        allocated_mib=1.0,
        reserved_mib=2.0,
        inactive_split_mib=None,
        peak_allocated_mib=1.0,
        peak_reserved_mib=2.0,
        alloc_retries=0,
        ooms=0,
    )
    first = merged(RankFacts(), RankFacts(environment={"A": "1"}, missing={"allocator": "not yet"}))
    assert first.missing == {"allocator": "not yet"}
    second = merged(first, RankFacts(allocator=allocator))
    assert (second.environment, second.allocator, second.missing) == ({"A": "1"}, allocator, {})
    third = merged(second, RankFacts(missing={"allocator": "gone"}))
    assert (third.allocator, third.missing) == (None, {"allocator": "gone"})
    assert third.environment == {"A": "1"}
