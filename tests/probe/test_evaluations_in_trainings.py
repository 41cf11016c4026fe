"""Validations that no DataLoader feeds, in real trainings: however they are written; and what is none."""

from typing import TYPE_CHECKING

import pytest

from perftui.ipc.messages import Goodbye, RankEvent

if TYPE_CHECKING:
    from tests.probe.conftest import Hub

pytestmark = [pytest.mark.torch, pytest.mark.slow]

_HEAD = """
import time
import torch
from torch import nn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))
optimizer = torch.optim.SGD(model.parameters(), 0.1)
batch = torch.randn(32, 64)

class Waits(nn.Module):
    def forward(self, x):
        time.sleep(0.01)
        return x

model.append(Waits())

def step():
    optimizer.zero_grad()
    model(batch).sum().backward()
    optimizer.step()

def go_over():
    right = torch.zeros(())
    for part in torch.randn(30, 32, 64).split(1):
        right += model(part[0]).argmax(1).sum()
    return right.item()

"""
_LOOP = """
for number in range(1, 41):
    step()
    if number % 10 == 0:
        evaluate()
"""
_VALIDATIONS = {
    "eval and train": """
@torch.no_grad()
def evaluate():
    model.eval()
    go_over()
    model.train()
""",
    "eval with gradients on": """
def evaluate():
    model.eval()
    go_over()
    model.train()
""",
    "train(False)": """
def evaluate():
    model.train(False)
    go_over()
    model.train(True)
""",
    "without eval": """
def evaluate():
    with torch.inference_mode():
        go_over()
""",
}


@pytest.mark.parametrize("way", _VALIDATIONS)
def test_a_validation_however_it_is_written(hub: "Hub", way: str) -> None:
    outcome = hub.train(_HEAD + _VALIDATIONS[way] + _LOOP)
    assert outcome.exit_code == 0, outcome.stderr
    assert outcome.steps() == 40
    found = [event for event in outcome.of(RankEvent) if event.event == "validation"]
    steps = [event.step for event in found]
    assert steps[-2:] == [20, 30]
    assert steps == [10, 20, 30] or way == "train(False)", "of which looks must have found both modes"
    assert {event.text for event in found} == {"without a loader"}
    assert all(0.25 < event.duration_ns / 1e9 < 1.0 for event in found)
    walls = outcome.column("wall_ns")
    assert all(walls[event.step] < 150_000_000 for event in found), "the step it lies in is as the others"
    assert [goodbye.errors for goodbye in outcome.of(Goodbye)] == [0]


_NONE = {
    "rollouts": """
def rollout():
    model.eval()
    with torch.no_grad():
        go_over()
    model.train()
for number in range(1, 41):
    step()
    if number % 10 == 0:
        rollout()
""",
    "answers in each step": """
for number in range(20):
    model.eval()
    with torch.no_grad():
        for _ in range(8 * (number % 4)):
            model(batch)
    model.train()
    step()
""",
    "a long pause": """
for number in range(1, 31):
    step()
    if number % 10 == 0:
        time.sleep(0.3)
""",
    "trained in evaluation mode": """
model.eval()
for number in range(1, 31):
    step()
    if number % 10 == 0:
        for _ in range(30):
            loss = model(batch).sum()
        loss.backward()
""",
}


@pytest.mark.parametrize("way", _NONE)
def test_what_is_no_validation(hub: "Hub", way: str) -> None:
    outcome = hub.train(_HEAD + _NONE[way])
    assert outcome.exit_code == 0, outcome.stderr
    assert [event for event in outcome.of(RankEvent) if event.event == "validation"] == []
