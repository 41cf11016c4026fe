"""Losses scaled from outside: gradients that a script sees, steps that are left out, what is refused."""

import gc
import json
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch import nn

from perftui.ipc.messages import FLAG_FAILED, Effective, StepBatch
from perftui.trainer.probe.altering.loss_scale import LossScale, why_not_scaled
from perftui.trainer.probe.altering.optimised_modules import Optimised
from perftui.trainer.probe.live_objects import live_objects

from .altered_scripts import train_on

if TYPE_CHECKING:
    from .conftest import Hub

pytestmark = pytest.mark.torch


class Bench:
    """A model of one weight, trained with scaled losses."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(torch.autograd, "backward", torch.autograd.backward)
        self.weight: Any = nn.Parameter(torch.ones(3))
        self.optimizer = torch.optim.SGD([self.weight], lr=0.5)
        self.left_out = 0
        self.given_up: list[str] = []
        self.weight.grad = torch.zeros(3)
        self.scale = LossScale(self.optimizer, self._leave_out, self.given_up.append)
        self.scale.install()
        self.optimizer.zero_grad()

    def _leave_out(self) -> None:
        self.left_out += 1

    def gradient(self) -> list[float]:
        assert self.weight.grad is not None
        return [float(value) for value in self.weight.grad]


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(monkeypatch)


def test_losses_of_another_optimizer_are_not_scaled(bench: Bench) -> None:
    """A script that trains one model after the other: the first may be alive still."""
    weight: Any = nn.Parameter(torch.ones(3))
    second = torch.optim.SGD([weight], lr=0.5)
    live_objects.optimizers.note(second)
    weight.sum().backward()
    assert weight.grad.tolist() == [1.0, 1.0, 1.0]
    assert [reason.partition(",")[0] for reason in bench.given_up] == [
        "the script has built another optimizer"
    ]
    (bench.weight * 3).sum().backward()
    assert bench.gradient() == [3.0, 3.0, 3.0]


def test_an_optimizer_that_the_script_lets_go_of_is_freed_with_its_parameters(bench: Bench) -> None:
    weight, optimizer = weakref.ref(bench.weight), weakref.ref(bench.optimizer)
    del bench.weight, bench.optimizer
    gc.collect()
    assert (weight(), optimizer()) == (None, None)
    other: Any = nn.Parameter(torch.ones(3))
    other.sum().backward()
    assert other.grad.tolist() == [1.0, 1.0, 1.0]


def test_the_script_sees_true_gradients_of_each_micro_batch(bench: Bench) -> None:
    (bench.weight * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert bench.gradient() == [1.0, 2.0, 3.0]
    (bench.weight * torch.tensor([0.5, 0.5, 0.1])).sum().backward()
    assert bench.gradient() == pytest.approx([1.5, 2.5, 3.1], rel=1e-7)
    (bench.weight * 2).backward(torch.tensor([1.0, 0.0, 2.0]))
    assert bench.gradient() == pytest.approx([3.5, 2.5, 7.1], rel=1e-7)
    foreign: Any = torch.autograd
    foreign.backward([bench.weight.sum(), bench.weight.prod()], [None, None])
    assert bench.gradient() == pytest.approx([5.5, 4.5, 9.1], rel=1e-7)


def test_within_the_backward_the_loss_is_scaled(bench: Bench) -> None:
    seen: list[torch.Tensor] = []
    loss: Any = bench.weight.sum()
    loss.register_hook(seen.append)
    loss.backward()
    assert [float(gradient) for gradient in seen] == [65536.0]


def test_a_step_that_is_not_finite_is_left_out_and_the_scale_halved(bench: Bench) -> None:
    (bench.weight * torch.tensor([1.0, float("inf"), 1.0])).sum().backward()
    bench.optimizer.step()
    assert bench.weight.tolist() == [1.0, 1.0, 1.0]
    assert (bench.left_out, bench.scale.scale) == (1, 32768.0)
    bench.optimizer.zero_grad()
    bench.weight.sum().backward()
    bench.optimizer.step()
    assert bench.weight.tolist() == [0.5, 0.5, 0.5]
    assert bench.left_out == 1


def test_the_scale_grows_after_two_thousand_good_steps(bench: Bench) -> None:
    for _ in range(2000):
        bench.optimizer.zero_grad()
        bench.weight.sum().backward()
        bench.optimizer.step()
    assert bench.scale.scale == 131072.0


def _second_order(bench: Bench) -> None:
    bench.weight.pow(2).sum().backward(create_graph=True)


def _closure(bench: Bench) -> None:
    bench.optimizer.step(lambda: bench.weight.sum().item())


@pytest.mark.parametrize(
    ("act", "reason"),
    [
        (_second_order, "create_graph=True"),
        (_closure, "is given a closure"),
    ],
)
@pytest.mark.filterwarnings("ignore:Using backward:UserWarning")
def test_what_ends_it(bench: Bench, act: Callable[[Bench], None], reason: str) -> None:
    act(bench)
    assert len(bench.given_up) == 1
    assert reason in bench.given_up[0]
    bench.optimizer.zero_grad()
    seen: list[torch.Tensor] = []
    loss: Any = bench.weight.sum()
    loss.register_hook(seen.append)
    loss.backward()
    assert [float(gradient) for gradient in seen] == [1.0]


def test_schedulers_take_the_altered_step_for_a_method(bench: Bench) -> None:
    schedule = torch.optim.lr_scheduler.StepLR(bench.optimizer, 1, gamma=0.1)
    bench.weight.sum().backward()
    bench.optimizer.step()
    schedule.step()
    assert bench.optimizer.param_groups[0]["lr"] == pytest.approx(0.05)
    assert bench.weight.tolist() == [0.5, 0.5, 0.5]


def _model() -> tuple[Any, torch.optim.Optimizer]:
    model: Any = nn.Linear(4, 2)
    model(torch.ones(1, 4)).sum().backward()
    return model, torch.optim.SGD(model.parameters(), lr=0.1)


def test_what_is_refused() -> None:
    model, optimizer = _model()
    seen: list[Any] = []
    modules = [Optimised(model, model, None)]
    assert why_not_scaled(optimizer, modules, 1, 1) is None
    assert "2 optimizers" in str(why_not_scaled(optimizer, modules, 2, 1))
    assert "without DistributedDataParallel" in str(why_not_scaled(optimizer, modules, 1, 2))
    handle = model.weight.register_hook(seen.append)
    assert "hooks on gradients" in str(why_not_scaled(optimizer, modules, 1, 1))
    handle.remove()
    assert why_not_scaled(optimizer, modules, 1, 1) is None
    model.weight.register_post_accumulate_grad_hook(seen.append)
    assert "hooks on gradients" in str(why_not_scaled(optimizer, modules, 1, 1))


def test_sparse_gradients_are_refused() -> None:
    words: Any = nn.Embedding(10, 4, sparse=True)
    words(torch.tensor([1, 2])).sum().backward()
    optimizer = torch.optim.SGD(words.parameters(), lr=0.1)
    assert why_not_scaled(optimizer, [Optimised(words, words, None)], 1, 1) == (
        "there are sparse gradients: use bf16"
    )


GROWN = "model = Net()\noptimizer = torch.optim.SGD(model.parameters(), lr=1e-7)"


def test_steps_left_out_are_marked_and_harm_nothing(module_hub: "Hub") -> None:
    """Gradients of a great loss leave the range of fp16 at the first scales."""
    script = train_on(GROWN).replace("loss.backward()", "(1000 * loss).backward()")
    module_hub.apply(settings={"precision.autocast": "fp16"})
    outcome = module_hub.train(script)
    assert outcome.exit_code == 0, outcome.stderr
    losses = json.loads(outcome.stdout.splitlines()[-1])["losses"]
    assert all(loss < 2 for loss in losses)
    assert outcome.of(Effective)[-1].failed == {}
    flags = [flag for batch in outcome.of(StepBatch) for flag in batch.flags]
    skipped = [step for step, flag in enumerate(flags) if flag & FLAG_FAILED]
    assert skipped
    assert 0 not in skipped, "the first step is not altered"
    assert len(flags) == 8
