"""The small pure parts of the probe."""

from collections import UserDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pytest
import torch
from torch.utils.data import Dataset, IterableDataset

from perftui.ipc.codec import MAX_RANK_FRAME_BYTES, decode_from_rank, encode
from perftui.ipc.errors import ProtocolError
from perftui.ipc.messages import BLANK, Beat, FromRank, RankEvent, StepBatch
from perftui.ipc.rank_link import RankLink
from perftui.ipc.step_record import StepRecord
from perftui.trainer.probe import loader_settings
from perftui.trainer.probe.border import FAILURES_ALLOWED, Border
from perftui.trainer.probe.identity import Identity, from_environment
from perftui.trainer.probe.loader_settings import merge, refusals
from perftui.trainer.probe.outbox import BATCHES_KEPT, Outbox
from perftui.trainer.probe.samples import SampleCounter
from perftui.trainer.probe.telegrams import consecutive, step_batch

pytestmark = pytest.mark.torch

X, Y = torch.zeros(5, 3), torch.zeros(5)


class Pair(NamedTuple):
    x: torch.Tensor
    y: torch.Tensor


@dataclass
class Sample:
    name: str
    x: torch.Tensor


class Encoding(UserDict[str, torch.Tensor]):
    pass


class Graphs:
    num_graphs = 5


class Movable:
    def __init__(self) -> None:
        self.label = "a"
        self.x = X

    def to(self, _device: str) -> "Movable":
        return self


@pytest.mark.parametrize(
    "batch",
    [
        X,
        [X, Y],
        (X, Y),
        Pair(X, Y),
        {"id": "a", "x": X},
        {"nested": {"x": (X, Y)}},
        Encoding({"input_ids": X}),
        Sample("a", X),
        Graphs(),
        Movable(),
        [[torch.zeros(3, 7, 7)] * 5, [{"boxes": torch.zeros(2, 4)}] * 5],
        {"text": ["a"] * 5},
    ],
    ids=lambda batch: type(batch).__name__,
)
def test_samples_of_a_batch(batch: object) -> None:
    counter = SampleCounter(5)
    assert [counter.count(batch) for _ in range(3)] == [5, 5, 5]


def test_samples_follow_the_batch_not_the_loader() -> None:
    counter = SampleCounter(5)
    assert counter.count((X, Y)) == 5
    assert counter.count((X[:2], Y[:2])) == 2
    assert counter.count({"x": X}) == 5
    assert counter.count("nothing to count") == -1
    assert SampleCounter(None).count(torch.tensor(1.0)) == -1


@pytest.mark.parametrize(
    "sample",
    [
        {"file_name": "a.jpg", "height": 480, "image": torch.zeros(3, 48, 64)},
        torch.zeros(3, 48, 64),
        (torch.zeros(1000, 3), 5),
        {"text": "of any length", "label": 2},
    ],
    ids=["detectron2", "image", "points", "text"],
)
def test_a_sample_that_the_loader_takes_out_of_its_batch_of_one_is_one(sample: object) -> None:
    counter = SampleCounter(1)
    assert [counter.count(sample), counter.count(sample)] == [1, 1]
    assert SampleCounter(1).count(torch.zeros(1, 3, 8, 8)) == 1


def test_border_counts_reports_and_switches_off() -> None:
    border = Border()
    calls: list[int] = []

    def hook(number: int) -> int:
        calls.append(number)
        raise ValueError(f"bad {number}")

    guarded: Callable[[int], object] = border.guard("fetch", hook)
    for number in range(FAILURES_ALLOWED + 3):
        assert guarded(number) is None
    assert calls == list(range(FAILURES_ALLOWED))
    assert border.errors == FAILURES_ALLOWED
    reports = border.take_reports()
    assert reports[0] == "fetch: ValueError: bad 0"
    assert reports[-1].endswith("; this hook is off now")
    assert border.take_reports() == []


def test_border_lets_an_interrupt_through() -> None:
    def hook() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Border().guard("fetch", hook)()


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, Identity()),
        ({"RANK": "3", "LOCAL_RANK": "1", "WORLD_SIZE": "8"}, Identity(3, 1, 8, known=True)),
        ({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"}, Identity(1, 1, 2, known=True)),
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": "4"}, Identity()),
        (
            {"SLURM_PROCID": "2", "SLURM_LOCALID": "0", "SLURM_NTASKS": "4", "SLURM_STEP_ID": "0"},
            Identity(2, 0, 4, known=True),
        ),
        ({"RANK": "x"}, Identity()),
    ],
)
def test_identity(environment: dict[str, str], expected: Identity) -> None:
    assert from_environment(environment) == expected


class Stream(IterableDataset[int]):
    def __iter__(self) -> Iterator[int]:
        return iter(())


class Items(Dataset[int]):
    pass


class Shuffled(Dataset[int]):
    def set_epoch(self, epoch: int) -> None:
        pass


@pytest.mark.parametrize(
    ("divided", "refused"), [(True, set[str]()), (False, {"num_workers"}), (None, {"num_workers"})]
)
@pytest.mark.parametrize(("own", "wanted"), [(0, 1), (2, 8), (2, 0)])
def test_a_stream_gets_other_workers_only_where_it_divides_its_data(
    monkeypatch: pytest.MonkeyPatch, divided: bool | None, refused: set[str], own: int, wanted: int
) -> None:
    def known(_dataset: object) -> bool | None:
        return divided

    monkeypatch.setattr(loader_settings, "divides", known)
    for dataset in (Stream(), object()):
        arguments = {"dataset": dataset, "num_workers": own}
        assert set(refusals(arguments, {"num_workers": wanted})) == refused
    assert refusals({"dataset": Items(), "num_workers": own}, {"num_workers": wanted}) == {}


def test_what_must_not_be_applied_to_a_loader() -> None:
    assert refusals({"dataset": Items()}, {"num_workers": 4, "prefetch_factor": 2}) == {}
    assert set(refusals({"dataset": Stream()}, {"num_workers": 4, "prefetch_factor": 2})) == {
        "num_workers",
        "prefetch_factor",
    }
    assert refusals({"dataset": Stream(), "num_workers": 2}, {"num_workers": 2, "prefetch_factor": 4}) == {}
    assert set(refusals({"dataset": Items()}, {"persistent_workers": True})) == {"persistent_workers"}
    refused = refusals({"dataset": Shuffled(), "num_workers": 2}, {"persistent_workers": True})
    assert set(refused) == {"persistent_workers"}
    own = {"dataset": None, "num_workers": 2, "prefetch_factor": 4, "timeout": 3, "batch_size": 8}
    assert merge(own, {"num_workers": 0}) == {"dataset": None, "num_workers": 0, "batch_size": 8}


def record(step: int) -> StepRecord:
    return StepRecord(step, 10 * step, 10, 1, 2, 3, 4, 5, 6, 1, 0, 0)


def test_frames_hold_consecutive_steps() -> None:
    frames = list(consecutive([record(step) for step in (0, 1, 4, 5, 6)]))
    assert [[step.step for step in frame] for frame in frames] == [[0, 1], [4, 5, 6]]
    batch = step_batch(frames[1], 77)
    assert (batch.first_step, batch.end_ns, batch.samples, batch.probe_ns) == (4, [40, 50, 60], [6] * 3, 77)


def test_outbox_keeps_events_and_drops_the_oldest_steps(tmp_path: Path) -> None:
    link = RankLink(f"ipc://{tmp_path}/nobody", "r0.1")  # connects to nothing: its queue fills
    outbox = Outbox("run-1", "here")
    for number in range(BATCHES_KEPT + 80):
        outbox.post(step_batch([record(2 * number), record(2 * number + 1)], 0))
    outbox.post(Beat(**BLANK, at_ns=1, step=2))
    assert outbox.dropped == 160
    assert outbox.send(link, 3)
    for number in range(BATCHES_KEPT):
        outbox.post(step_batch([record(2 * number)], 0))
    assert not outbox.send(link, 3)
    assert outbox.dropped > 160
    link.close()


class Taken:
    """A link that takes everything, and says what it was."""

    def __init__(self) -> None:
        self.frames: list[FromRank] = []

    def send(self, message: FromRank) -> bool:
        frame = encode(message)
        if len(frame) > MAX_RANK_FRAME_BYTES:
            raise ProtocolError("too long")
        self.frames.append(decode_from_rank(frame))
        return True


def event(text: str, at_ns: int = 1) -> RankEvent:
    return RankEvent(**BLANK, at_ns=at_ns, event="checkpoint", text=text)


@pytest.mark.parametrize(
    "unsayable",
    [event("too late", at_ns=1 << 70), event(object()), event("x" * MAX_RANK_FRAME_BYTES)],  # type: ignore[arg-type]
    ids=["integer", "type", "length"],
)
def test_outbox_leaves_out_what_no_frame_can_say(unsayable: RankEvent) -> None:
    outbox, link = Outbox("run-1", "here"), Taken()
    for message in (event("caf\udce9.pt"), unsayable, event("after")):
        outbox.post(message)
    outbox.post(step_batch([StepRecord(3, 1 << 70, *record(3)[2:]), record(4)], 0))
    outbox.post(step_batch([record(5)], 0))
    assert outbox.send(link, 2)  # type: ignore[arg-type]
    told = [message.text for message in link.frames if isinstance(message, RankEvent)]
    assert told == ["caf\ufffd.pt", "after"]
    (batch,) = [message for message in link.frames if isinstance(message, StepBatch)]
    assert (batch.first_step, batch.dropped) == (5, 2)
    assert [message.seq for message in link.frames] == [0, 1, 2]  # nothing seems to be lost on the way
    assert (outbox.unsayable, outbox.dropped) == (2, 2)


def test_a_frame_that_no_hub_takes_is_not_sent(tmp_path: Path) -> None:
    link = RankLink(f"ipc://{tmp_path}/nobody", "r0.1")
    with pytest.raises(ProtocolError, match="the limit is"):
        link.send(event("x" * MAX_RANK_FRAME_BYTES))
    assert link.send(event("short"))
    link.close()
