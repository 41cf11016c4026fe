"""What a batch looks like, whatever it is, with bounded work."""

from collections import UserDict
from dataclasses import dataclass

import pytest
import torch

from perftui.ipc.facts import BatchFacts, TensorFacts
from perftui.trainer.probe.batch_signature import NOT_SEEN, TENSORS_SHOWN, BatchBook, describe_batch

pytestmark = pytest.mark.torch

X = torch.zeros(5, 3)
Y = torch.zeros(5, dtype=torch.long)
SEEN = [([5, 3], "float32"), ([5], "int64")]


@dataclass
class Pair:
    x: torch.Tensor
    y: torch.Tensor


class Encoding(UserDict[str, torch.Tensor]):
    pass


class Movable:
    def __init__(self) -> None:
        self.label, self.x, self.y = "a", X, Y

    def to(self, _device: str) -> "Movable":
        return self


@pytest.mark.parametrize(
    "batch",
    [
        [X, Y],
        (X, (Y,)),
        {"id": "a", "x": X, "y": Y},
        {"nested": [{"x": X}, "text", Y]},
        Pair(X, Y),
        Encoding({"x": X, "y": Y}),
        Movable(),
    ],
    ids=lambda batch: type(batch).__name__,
)
def test_the_tensors_of_a_batch_in_their_order(batch: object) -> None:
    signature = describe_batch(batch)
    assert [(one.shape, one.dtype) for one in signature.tensors] == SEEN
    assert {one.device for one in signature.tensors} == {"cpu"}
    assert not signature.more


def test_without_cuda_nobody_asks_whether_it_is_pinned() -> None:
    if torch.cuda.is_available():
        pytest.skip("speaks of machines without a GPU")
    assert describe_batch(X).tensors == [
        TensorFacts(shape=[5, 3], dtype="float32", device="cpu", pinned=None)
    ]
    assert not torch.cuda.is_initialized()  # type: ignore[no-untyped-call]


EMPTY: list[object] = []
WITHOUT: list[object] = ["text", 7, None, EMPTY, {}, ["a"] * 1000, [[EMPTY] * 100] * 100]


@pytest.mark.parametrize("batch", WITHOUT)
def test_batches_without_tensors_have_an_empty_signature(batch: object) -> None:
    assert describe_batch(batch).tensors == []


def test_work_is_bounded() -> None:
    visited: list[int] = []

    class Counting(UserDict[int, object]):
        def __getitem__(self, key: int) -> object:
            visited.append(key)
            return {"deeper": "text"}

    describe_batch(Counting(dict.fromkeys(range(10_000))))
    assert len(visited) <= 64
    signature = describe_batch([torch.zeros(1)] * 512)
    assert (len(signature.tensors), signature.more) == (TENSORS_SHOWN, True)
    loop: list[object] = []
    loop.append(loop)
    assert describe_batch(loop).tensors == []


def book() -> BatchBook:
    indices = {10: 0, 11: 0, 20: 1}
    return BatchBook(indices.get)


def read(batches: BatchBook, index: int) -> BatchFacts:
    facts, reason = batches.read(index)
    assert reason is None
    assert facts is not None
    return facts


def test_shapes_that_change_are_counted_by_loader() -> None:
    batches = book()
    for length in (7, 9, 7, 11):
        batches.look(10, (torch.zeros(4, length), torch.zeros(4)))
    batches.look(11, (torch.zeros(4, 13), torch.zeros(4)))  # the same loader, built anew
    batches.look(20, torch.zeros(2))
    batches.look(99, torch.zeros(1))  # of no DataLoader that is known
    facts = read(batches, 0)
    assert (facts.looked, facts.distinct_shapes) == (5, 4)
    assert facts.examples == [[4, 7], [4, 9], [4, 11], [4, 13]]
    assert [one.shape for one in facts.newest.tensors] == [[4, 13], [4]]
    assert read(batches, 1).distinct_shapes == 1


def test_what_is_kept_is_bounded() -> None:
    batches = book()
    for length in range(200):
        batches.look(10, torch.zeros(1, length))
    facts = read(batches, 0)
    assert (facts.looked, facts.distinct_shapes, len(facts.examples)) == (200, 64, 4)


def test_no_batch_is_no_figure() -> None:
    assert book().read(None) == (None, NOT_SEEN)
    assert book().read(0) == (None, NOT_SEEN)
