"""The probe sleeps now and then in a real training: its cost is told, and nothing is counted otherwise."""

import itertools
from typing import TYPE_CHECKING

import pytest

from perftui.ipc.messages import FLAG_ASLEEP, Goodbye, StepBatch

if TYPE_CHECKING:
    from tests.probe.conftest import Hub, Outcome

pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.long]

STEPS = 3000
SCRIPT = f"""
import time, torch
from torch.utils.data import DataLoader, TensorDataset
from perftui.trainer.probe import install
torch.set_num_threads(1)
recorder = install.install().recorder
def until_read():  # on a busy host the probe's thread may come late, and a process that ends waits briefly
    while recorder.reader.stamps_read + recorder.ring.lost < recorder.ring.written - 100:
        time.sleep(0.005)
model = torch.nn.Linear(8, 2)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
loader = DataLoader(TensorDataset(torch.randn(1003, 8)), batch_size=4)
def endless():
    while True:
        yield from loader
batches = endless()
for number in range({STEPS}):
    (x,) = next(batches)
    optimizer.zero_grad()
    model(x).sum().backward()
    optimizer.step()
    if number == 200:
        until_read()
until_read()
time.sleep(0.5)  # and sent
"""


def column(outcome: "Outcome", name: str) -> list[int]:
    return [value for batch in outcome.of(StepBatch, 0) for value in getattr(batch, name)]


def test_a_plain_training_is_slept_through_now_and_then(hub: "Hub") -> None:
    outcome = hub.train(SCRIPT)
    assert outcome.steps() == STEPS
    asleep = [step for step, flags in enumerate(column(outcome, "flags")) if flags & FLAG_ASLEEP]
    assert 16 < len(asleep) < STEPS / 20
    assert asleep[0] >= 64
    assert len({after - before for before, after in itertools.pairwise(asleep)}) > 3
    epoch = [4] * 250 + [3]
    assert column(outcome, "samples") == (epoch * 12)[:STEPS]
    assert column(outcome, "epoch") == [step // 251 for step in range(STEPS)]
    assert [(bye.errors, bye.dropped) for bye in outcome.of(Goodbye, 0)] == [(0, 0)]
    last = outcome.of(StepBatch, 0)[-1]
    assert 16 <= last.shadow_steps <= len(asleep)
    assert last.shadow_se_us is not None
    assert last.shadow_se_us > 0
    assert last.shadow_cpu_us is not None


def test_it_can_be_kept_awake(hub: "Hub") -> None:
    outcome = hub.train(SCRIPT, PERFTUI_SHADOW="off")
    assert not any(flags & FLAG_ASLEEP for flags in column(outcome, "flags"))
    assert outcome.of(StepBatch, 0)[-1].shadow_us is None
