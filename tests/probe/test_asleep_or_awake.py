"""Slept through or not, a loop leaves the same stamps in the same order, whatever raises in it."""

import itertools
import json
import os
import subprocess
import sys
from typing import TypeAlias

import pytest

pytestmark = pytest.mark.torch

Stamps: TypeAlias = list[tuple[int, int, int]]
"""code, at_ns, value."""
HEAD = """
import json, threading, torch
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset
from perftui.trainer.probe.border import Border
from perftui.trainer.probe.hooks import install_hooks
from perftui.trainer.probe.loader_settings import LoaderBook
from perftui.trainer.probe.recorder import Recorder

border = Border()
recorder = Recorder(border, LoaderBook({}), lambda: None)
install_hooks(recorder)
torch.set_num_threads(1)
model = torch.nn.Linear(8, 2)
first = torch.optim.SGD([model.weight], 0.01)
second = torch.optim.SGD([model.bias], 0.01)
loader = DataLoader(TensorDataset(torch.randn(60, 8)), batch_size=4)

class Fails(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, fails):
        ctx.fails = fails
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        if ctx.fails:
            raise ValueError("backward")
        return gradient, None

def run():
    for number in range(40):
        for count, (x,) in enumerate(loader):
            step(count, x)
            if count == 9 and number % 4 == 0:
                break
"""
TAIL = """
print(json.dumps([[code, at_ns, value] for code, at_ns, _, value in recorder.ring.take()]))
print(border.take_reports(), recorder.sleep.broken > 0 or len(recorder.sleep.done) > 0)
"""
LOOPS = {
    "plain": """
def step(count, x):
    model(x).sum().backward()
    first.step()
run()
""",
    "two backwards": """
def step(count, x):
    model(x).sum().backward()
    model(x).sum().backward()
    first.step()
run()
""",
    "two optimizers": """
def step(count, x):
    model(x).sum().backward()
    first.step()
    second.step()
run()
""",
    "accumulation": """
def step(count, x):
    model(x).sum().backward()
    if count % 3 == 2:
        first.step()
run()
""",
    "backward in a backward": """
def step(count, x):
    checkpoint(model, x.clone().requires_grad_(), use_reentrant=True).sum().backward()
    first.step()
run()
""",
    "forward raises": """
def step(count, x):
    try:
        if count % 3 == 1:
            raise ValueError("forward")
        model(x).sum().backward()
        first.step()
    except ValueError:
        pass
run()
""",
    "backward raises": """
def step(count, x):
    try:
        Fails.apply(model(x), count % 3 == 1).sum().backward()
        first.step()
    except ValueError:
        pass
run()
""",
    "optimizer raises": """
class Raises(torch.optim.SGD):
    calls = 0
    def step(self, closure=None):
        self.calls += 1
        if self.calls % 3 == 1:
            raise ValueError("step")
        return super().step(closure)
raises = Raises([model.weight], 0.01)
def step(count, x):
    model(x).sum().backward()
    try:
        raises.step()
    except ValueError:
        pass
run()
""",
    "closure": """
def step(count, x):
    def closure():
        loss = model(x).sum()
        loss.backward()
        return loss
    first.step(closure)
run()
""",
    "trained in another thread than fetched": """
batches = iter(loader)
next(batches)
def step(count, x):
    model(x).sum().backward()
    first.step()
thread = threading.Thread(target=run)
thread.start()
thread.join()
""",
}


def _stamps_of(loop: str, shadow: str) -> Stamps:
    done = subprocess.run(
        [sys.executable, "-c", HEAD + LOOPS[loop] + TAIL],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PERFTUI_SHADOW": shadow, "PERFTUI_OFF": "1"},
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert second == f"[] {shadow != 'off'}"
    stamps: Stamps = [(code, at_ns, value) for code, at_ns, value in json.loads(first)]
    return stamps


@pytest.mark.slow
@pytest.mark.parametrize(
    "loop", [pytest.param(loop, marks=[] if loop == "plain" else [pytest.mark.long]) for loop in LOOPS]
)
def test_the_stamps_are_the_same_and_in_order(loop: str) -> None:
    awake, asleep = _stamps_of(loop, "off"), _stamps_of(loop, "2")
    assert len(awake) > 500
    assert [code for code, _, _ in asleep] == [code for code, _, _ in awake]
    for stamps in (awake, asleep):
        assert all(before[1] <= after[1] for before, after in itertools.pairwise(stamps))
