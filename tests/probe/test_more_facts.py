"""Memory of the process, denormal weights, and streams that divide their data."""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import cast

import pytest
import torch
from torch.utils.data import DataLoader, IterableDataset

from perftui.trainer.probe.loader_reading import read_loader
from perftui.trainer.probe.model_reading import read_model
from perftui.trainer.probe.process_reading import read_process

pytestmark = pytest.mark.torch


def test_the_process_grows_by_what_it_keeps() -> None:
    before, reason = read_process()
    kept = torch.ones(64 * 2**20, dtype=torch.uint8)
    after, _ = read_process()
    assert reason is None
    assert before is not None
    assert after is not None
    assert after.rss_mib - before.rss_mib == pytest.approx(64, abs=16)
    assert after.threads >= 1
    assert after.voluntary_switches >= before.voluntary_switches
    del kept


@pytest.mark.parametrize(("scale", "share"), [(1.0, 0.0), (1e-39, 1.0)], ids=["usual weights", "below 1e-38"])
def test_denormal_weights_are_counted(scale: float, share: float) -> None:
    layer = torch.nn.Linear(64, 64)
    with torch.no_grad():
        layer.weight.fill_(scale)
        layer.bias.fill_(scale)
    facts = read_model([torch.optim.SGD(layer.parameters(), 0.1)], [])
    assert facts.subnormal == share


def test_zeros_and_integers_are_no_denormal_numbers() -> None:
    zero = torch.nn.Parameter(torch.zeros(100))
    assert read_model([torch.optim.SGD([zero], 0.1)], []).subnormal == 0.0
    half = torch.nn.Parameter(torch.ones(100, dtype=torch.float16))
    assert read_model([torch.optim.SGD([half], 0.1)], []).subnormal is None


_WHOLE = """
from torch.utils.data import IterableDataset

class Whole(IterableDataset):
    def __iter__(self):
        yield from range(8)
"""
_DIVIDED = _WHOLE.replace("yield from range(8)", "yield from range(get_worker_info().id, 8, 2)")


@pytest.mark.parametrize(("source", "sharded"), [(_WHOLE, False), (_DIVIDED, True)])
def test_a_stream_of_the_scripts_own_is_told_by_its_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, sharded: bool
) -> None:
    name = f"stream_{sharded}".lower()
    (tmp_path / f"{name}.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    kind = cast("type[IterableDataset[int]]", vars(import_module(name))["Whole"])
    assert read_loader(0, DataLoader(kind(), num_workers=0)).sharded is sharded
    prepared: DataLoader[int] = DataLoader(kind(), num_workers=2, worker_init_fn=_nothing)
    assert read_loader(0, prepared).sharded is (True if sharded else None)


def _nothing(_worker: int) -> None:
    """Prepare a worker."""


class _Listed(IterableDataset[int]):
    def __iter__(self) -> Iterator[int]:
        yield 1


def test_what_cannot_be_read_is_not_told() -> None:
    no_source: type[IterableDataset[int]] = type("Made", (_Listed,), {"__module__": "nowhere"})
    assert read_loader(0, DataLoader(no_source())).sharded is None
    assert read_loader(0, DataLoader([1, 2])).sharded is None  # type: ignore[arg-type]
