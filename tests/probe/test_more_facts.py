"""Memory of the process, and denormal weights."""

from pathlib import Path

import numpy as np
import pytest
import torch

from perftui.trainer.probe.model_reading import read_model
from perftui.trainer.probe.process_reading import memory_in, read_process

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


def test_a_mapped_file_is_not_kept(tmp_path: Path) -> None:
    (tmp_path / "tokens").write_bytes(bytes(64 * 2**20))
    mapped = np.memmap(tmp_path / "tokens", dtype=np.uint8, mode="r")
    before, _ = read_process()
    assert mapped.sum() == 0
    after, _ = read_process()
    assert before is not None
    assert after is not None
    assert before.file_mib is not None
    assert after.file_mib is not None
    assert after.rss_mib - before.rss_mib == pytest.approx(64, abs=16)
    assert after.file_mib - before.file_mib == pytest.approx(64, abs=16)


def test_a_kernel_that_does_not_tell_files_apart() -> None:
    status = b"Name:\tpython\nVmRSS:\t    2048 kB\nRssAnon:\t 1024 kB\n"
    assert memory_in(status, b"VmRSS") == 2.0
    assert memory_in(status, b"RssFile") is None


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
