"""Batches whose items are made as they are asked for: the probe never asks, and still counts what it can."""

from collections import UserDict, defaultdict
from collections.abc import Iterator, Mapping

import pytest

pytestmark = [pytest.mark.torch]
torch = pytest.importorskip("torch")

from perftui.trainer.probe.batch_signature import describe_batch  # noqa: E402
from perftui.trainer.probe.border import Foreign  # noqa: E402
from perftui.trainer.probe.samples import SampleCounter  # noqa: E402
from perftui.trainer.probe.tokens import padding_of  # noqa: E402

X = torch.zeros(5, 16, dtype=torch.long)
asked: list[str] = []


class Lazy(dict[str, Foreign]):
    def __getitem__(self, key: str) -> Foreign:
        asked.append(key)
        return super().__getitem__(key)

    def __iter__(self) -> Iterator[str]:
        asked.append("iter")
        return super().__iter__()

    def get(self, key: str, default: Foreign = None) -> Foreign:
        asked.append(key)
        return super().get(key, default)


class LazyList(list[Foreign]):
    def __getitem__(self, place: Foreign) -> Foreign:
        asked.append(str(place))
        return super().__getitem__(place)

    def __len__(self) -> int:
        asked.append("len")
        return super().__len__()


class LazyTuple(tuple[Foreign, ...]):
    def __getitem__(self, place: Foreign) -> Foreign:
        asked.append(str(place))
        return super().__getitem__(place)


class LazyEncoding(UserDict[str, Foreign]):
    def __getitem__(self, key: str) -> Foreign:
        asked.append(key)
        return super().__getitem__(key)


class Decodes(Mapping[str, Foreign]):
    def __getitem__(self, key: str) -> Foreign:
        asked.append(key)
        return X

    def __iter__(self) -> Iterator[str]:
        asked.append("iter")
        return iter(("input_ids",))

    def __len__(self) -> int:
        return 1


class Answers:
    def __getattr__(self, name: str) -> Foreign:
        asked.append(name)
        return X


@pytest.mark.parametrize(
    ("batch", "counted"),
    [
        (Lazy(input_ids=X, attention_mask=X), True),
        (LazyList([X, X]), True),
        (LazyTuple((X, X)), True),
        (LazyEncoding(input_ids=X), True),
        ({"inside": Lazy(input_ids=X)}, True),
        (Decodes(), False),
        (Answers(), False),
    ],
    ids=lambda each: type(each).__name__,
)
def test_none_is_asked_for_its_items(batch: Foreign, *, counted: bool) -> None:
    asked.clear()
    counter = SampleCounter(None)
    sizes = {counter.count(batch) for _ in range(4)}
    described = describe_batch(batch)
    padding_of(batch)
    assert [name for name in asked if not name.startswith("__")] == []
    assert (sizes == {-1}) is not counted
    assert bool(described.tensors) is counted


def test_a_key_that_a_later_batch_lacks_is_not_put_there() -> None:
    counter = SampleCounter(None)
    first: defaultdict[str, Foreign] = defaultdict(list, {"x": torch.zeros(3, 2)})
    later: defaultdict[str, Foreign] = defaultdict(list, {"y": torch.zeros(4, 2)})
    assert [counter.count(each) for each in (first, later)] == [3, 4]
    assert list(later) == ["y"]
