"""Passes over the data, and trainings whose steps are made where no hook stands, in real processes."""

from typing import TYPE_CHECKING

import pytest

from perftui.ipc.messages import (
    FLAG_ASLEEP,
    FLAG_EPOCH_START,
    FLAG_PHASES_UNKNOWN,
    FLAG_WAIT_UNKNOWN,
    Effective,
    Goodbye,
    RankEvent,
)
from tests.probe.training_scripts import PREAMBLE, partitions

if TYPE_CHECKING:
    from tests.probe.conftest import Hub

pytestmark = [pytest.mark.torch, pytest.mark.slow]

PASS = """
mean = torch.zeros(8)
for x, _ in DataLoader(Data(800), batch_size=4):
    mean += x.mean(0)
"""
TRAINING = """
for batch in DataLoader(Data(120), batch_size=4):
    step(batch)
"""
BY_GRAD = """
weights = list(model.parameters())
for x, y in DataLoader(Data(400), batch_size=4):
    loss = nn.functional.cross_entropy(model(x), y)
    slopes = torch.autograd.grad(loss, weights)
    with torch.no_grad():
        for weight, slope in zip(weights, slopes):
            weight.sub_(slope, alpha=0.1)
"""
BY_FUNC = """
weights = {name: weight.detach() for name, weight in model.named_parameters()}
def loss_of(weights, x, y):
    return nn.functional.cross_entropy(torch.func.functional_call(model, weights, (x,)), y)
for x, y in DataLoader(Data(400), batch_size=4):
    slopes = torch.func.grad(loss_of)(weights, x, y)
    weights = {name: weight - 0.1 * slopes[name] for name, weight in weights.items()}
"""


@pytest.mark.parametrize(
    ("script", "steps", "validations"),
    [
        (PASS + TRAINING, 30, ["200 batches"]),
        (BY_GRAD, 100, []),
        (BY_FUNC, 100, []),
        (PASS + BY_GRAD, 100, []),
        (PASS, 0, []),
    ],
    ids=["pass and training", "autograd.grad", "func.grad", "pass and autograd.grad", "pass"],
)
def test_steps_are_those_in_which_something_can_be_trained(
    hub: "Hub", script: str, steps: int, validations: list[str]
) -> None:
    outcome = hub.train(PREAMBLE + script)
    assert (outcome.exit_code, outcome.stderr, outcome.steps()) == (0, "", steps)
    assert [event.text for event in outcome.of(RankEvent) if event.event == "validation"] == validations
    assert all(goodbye.errors == 0 for goodbye in outcome.of(Goodbye))


IN_ANOTHER_THREAD = (
    PREAMBLE
    + """
import threading
from perftui.trainer.probe import elsewhere

# a GPU's backward has threads of its own; here each optimizer steps in one of ours
elsewhere._task_of_thread = lambda: -1 if threading.current_thread() is threading.main_thread() else 0
own = {id(weight): torch.optim.SGD([weight], 0.1) for weight in model.parameters()}
def step_there(weight):
    thread = threading.Thread(target=own[id(weight)].step)
    thread.start()
    thread.join()
    own[id(weight)].zero_grad()
for weight in model.parameters():
    weight.register_post_accumulate_grad_hook(step_there)
def train(x, y):
    nn.functional.cross_entropy(model(x), y).backward()
"""
)
FED = """
for epoch in range(2):
    for x, y in DataLoader(Data(80), batch_size=4):
        train(x, y)
"""
UNFED = """
for _ in range(40):
    train(torch.ones(4, 8), torch.zeros(4, dtype=torch.long))
    time.sleep(0.01)
"""


@pytest.mark.parametrize("asleep", ["off", "3"])
def test_optimizers_that_step_in_the_backwards_threads_are_seen(hub: "Hub", asleep: str) -> None:
    outcome = hub.train(IN_ANOTHER_THREAD + FED, PERFTUI_SHADOW=asleep)
    assert (outcome.exit_code, outcome.stderr, outcome.steps()) == (0, "", 40)
    assert partitions(outcome)
    starts = [bool(flags & FLAG_EPOCH_START) for flags in outcome.column("flags")]
    assert [step for step, begins in enumerate(starts) if begins] == [0, 20]
    assert {flags & ~(FLAG_EPOCH_START | FLAG_ASLEEP) for flags in outcome.column("flags")} == {0}
    awake = [not flags & FLAG_ASLEEP for flags in outcome.column("flags")]
    spent = list(zip(awake, outcome.column("backward_ns"), outcome.column("optimizer_ns"), strict=True))
    assert all(backward > 0 and optimizer > 0 for is_awake, backward, optimizer in spent if is_awake)
    assert outcome.column("samples") == [4] * 40
    assert outcome.of(Effective)[-1].device == "cpu"
    assert outcome.of(Goodbye)[0].errors == 0


def test_without_a_loader_they_end_a_step_with_their_backward(hub: "Hub") -> None:
    outcome = hub.train(IN_ANOTHER_THREAD + UNFED)
    assert (outcome.exit_code, outcome.stderr, outcome.steps()) == (0, "", 40)
    assert set(outcome.column("flags")) == {FLAG_WAIT_UNKNOWN}
    assert partitions(outcome)
    assert outcome.of(Goodbye)[0].errors == 0


BY_HAND = (
    PREAMBLE
    + """
for x, y in DataLoader(Data(160), batch_size=4):
    nn.functional.cross_entropy(model(x), y).backward()
    with torch.no_grad():
        for weight in model.parameters():
            weight.sub_(weight.grad, alpha=0.1)
            weight.grad = None
"""
)


def test_the_device_is_told_without_an_optimizer(hub: "Hub") -> None:
    outcome = hub.train(BY_HAND)
    assert (outcome.exit_code, outcome.stderr, outcome.steps()) == (0, "", 40)
    assert outcome.of(Effective)[-1].device == "cpu"


CAPTURED = (
    PREAMBLE
    + """
from perftui.trainer.probe import graph_replays, install

class Graph:  # stands in for torch's, which needs a GPU
    def capture_begin(self):
        pass
    def capture_end(self):
        pass
    def replay(self):
        time.sleep(0.001)

torch.cuda.CUDAGraph = Graph
graph_replays.patch_graphs(install._installed[0].recorder)
static = torch.ones(4, 8), torch.zeros(4, dtype=torch.long)
for _ in range(3):
    step(static)
graph, of_the_forward = Graph(), Graph()
graph.capture_begin()
step(static)
graph.capture_end()
of_the_forward.capture_begin()
model(static[0])
of_the_forward.capture_end()
"""
)
REPLAYED = """
for epoch in range(3):
    for x, y in DataLoader(Data(400), batch_size=4):
        static[0].copy_(x)
        of_the_forward.replay()
        graph.replay()
    with torch.no_grad():
        for x, y in DataLoader(Data(40), batch_size=4):
            of_the_forward.replay()
"""
REPLAYED_UNFED = """
for _ in range(300):
    graph.replay()
"""


def test_each_replay_of_a_captured_step_is_a_step(hub: "Hub") -> None:
    outcome = hub.train(CAPTURED + REPLAYED)
    assert (outcome.exit_code, outcome.stderr, outcome.steps()) == (0, "", 303)
    assert outcome.column("samples")[3:] == [4] * 300
    assert outcome.column("epoch")[3:] == [0] * 100 + [1] * 100 + [2] * 100
    assert {flags & ~FLAG_EPOCH_START for flags in outcome.column("flags")[3:]} == {FLAG_PHASES_UNKNOWN}
    validations = [event.text for event in outcome.of(RankEvent) if event.event == "validation"]
    assert validations == ["10 batches"] * 3
    assert outcome.of(Goodbye)[0].errors == 0


def test_replays_without_a_loader_are_steps_too(hub: "Hub") -> None:
    outcome = hub.train(CAPTURED + REPLAYED_UNFED)
    assert (outcome.exit_code, outcome.stderr, outcome.steps()) == (0, "", 303)
    assert set(outcome.column("flags")[3:]) == {FLAG_PHASES_UNKNOWN | FLAG_WAIT_UNKNOWN}
    assert outcome.of(Goodbye)[0].errors == 0
