"""The loss that is told is the script's own: not multiplied by a GradScaler's scale."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
import torch

from perftui.ipc.messages import Goodbye, LossSample
from perftui.trainer.probe.loss import EVERY_BATCHES, LossSampler
from tests.probe.training_scripts import PREAMBLE

if TYPE_CHECKING:
    from tests.probe.conftest import Hub

pytestmark = pytest.mark.torch

SCALE = 2.0**16


class Training:
    """Losses of three and five, and what the sampler makes of a backward."""

    def __init__(self) -> None:
        self.weight = torch.ones((), requires_grad=True)
        self.scaler: Any = torch.amp.GradScaler("cpu", init_scale=SCALE)
        self.sampler = LossSampler()
        self._batches = 0

    def loss(self, value: float) -> torch.Tensor:
        return self.weight * value

    def scaled(self, outputs: Any) -> Any:  # noqa: ANN401
        scaled = self.scaler.scale(outputs)
        self.sampler.note_scaled(self.scaler, scaled)
        return scaled

    def told(self, root: object) -> list[float]:
        self.sampler.ready.clear()
        self.sampler.sample(self._batches, 0, root)
        self._batches += EVERY_BATCHES
        return [value for _, value in self.sampler.ready]


def one(it: Training) -> object:
    return it.scaled(it.loss(3.0))


def several(it: Training) -> object:
    return it.scaled([it.loss(3.0), it.loss(5.0)])


def within_a_list(it: Training) -> object:
    return it.scaled((it.loss(5.0), [it.loss(3.0)]))[1]


def divided(it: Training) -> object:
    return it.scaled(it.loss(12.0)) / 4


def added_up(it: Training) -> object:
    first, second, third = it.scaled([it.loss(1.0), it.loss(1.5), it.loss(0.5)])
    return first + second + third


def of_one_dimension(it: Training) -> object:
    return it.scaled(it.loss(3.0)).reshape(1)


@pytest.mark.parametrize("root", [one, several, within_a_list, divided, added_up, of_one_dimension])
def test_a_scale_is_taken_off(root: Callable[[Training], object]) -> None:
    training = Training()
    assert training.told(root(training)) == [3.0]


def test_each_loss_has_the_scale_that_it_was_scaled_by() -> None:
    """The scale changes along the way, and a GAN may scale one loss and not the other."""
    training = Training()
    assert training.told(training.scaled(training.loss(3.0))) == [3.0]
    training.scaler.update(new_scale=2.0)
    first, plain = training.scaled(training.loss(3.0)), training.loss(5.0)
    assert float(first.detach()) == 6.0
    assert training.told(plain) == [5.0]
    assert training.told(first) == [3.0]
    assert training.told(training.loss(5.0)) == [5.0]


def test_a_scaler_that_is_off_leaves_the_loss_alone() -> None:
    training = Training()
    training.scaler = torch.amp.GradScaler("cpu", enabled=False)
    assert training.told(training.scaled(training.loss(3.0))) == [3.0]


def test_an_iterator_of_losses_is_the_scripts_to_go_through() -> None:
    training = Training()
    scaled = training.scaled(iter([training.loss(3.0), training.loss(5.0)]))
    assert [float(one.detach()) for one in scaled] == [3 * SCALE, 5 * SCALE]


SCALED = (
    PREAMBLE
    + """
import json
from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler

class Own(torch.amp.GradScaler):
    def scale(self, outputs):
        return super().scale(outputs)

class Alone(ShardedGradScaler):
    # over all ranks it would ask whether gradients are finite: there is but one
    step, unscale_ = torch.amp.GradScaler.step, torch.amp.GradScaler.unscale_
    update = torch.amp.GradScaler.update

losses = []
for scaler in (torch.amp.GradScaler("cpu"), Own("cpu", init_scale=4.0, growth_interval=3), Alone("cpu")):
    for x, y in DataLoader(Data(40), batch_size=4):
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        losses.append(float(loss.detach()))
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
print(json.dumps(losses))
"""
)


@pytest.mark.slow
def test_losses_under_scalers_are_those_of_the_script(hub: "Hub") -> None:
    outcome = hub.train(SCALED)
    assert (outcome.exit_code, outcome.stderr) == (0, "")
    assert outcome.of(Goodbye)[0].errors == 0
    losses = json.loads(outcome.stdout)
    told = {sample.step: sample.value for sample in outcome.of(LossSample)}
    assert told == {step: pytest.approx(losses[step], rel=1e-6) for step in (0, 10, 20)}


STAND_IN = """
class LossScalerBase:
    def __init__(self, cur_scale):
        self.cur_scale = cur_scale
    @property
    def loss_scale(self):
        return self.cur_scale
    {scale_loss}
    def backward(self, loss, retain_graph=False):
        scaled_loss = loss * self.loss_scale
        scaled_loss.backward(retain_graph=retain_graph)
class LossScaler(LossScalerBase):
    pass
"""
SCALE_LOSS = """
    def scale_loss(self, loss):
        return loss * self.loss_scale
"""
UNDER_DEEPSPEED = (
    PREAMBLE
    + """
import json
from deepspeed.runtime.fp16.loss_scaler import LossScaler

scaler = LossScaler(65536.0)
losses = []
for number, (x, y) in enumerate(DataLoader(Data(160), batch_size=4)):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    losses.append(float(loss.detach()))
    if hasattr(scaler, "scale_loss") and number % 20:
        (scaler.scale_loss(loss) / 2).backward()
        losses[-1] /= 2
    else:
        scaler.backward(loss)
    if number == 25:
        scaler.cur_scale = 2.0
    optimizer.step()
print(json.dumps(losses))
"""
)


@pytest.mark.slow
@pytest.mark.parametrize("scale_loss", ["", SCALE_LOSS.strip()], ids=["older", "newer"])
def test_losses_that_deepspeed_scales_are_those_of_the_script(hub: "Hub", scale_loss: str) -> None:
    """A stand-in: DeepSpeed needs a compiler to be installed."""
    package = hub.work / "deepspeed" / "runtime" / "fp16"
    package.mkdir(parents=True)
    (package / "loss_scaler.py").write_text(STAND_IN.format(scale_loss=scale_loss))
    outcome = hub.train(UNDER_DEEPSPEED)
    assert (outcome.exit_code, outcome.stderr) == (0, "")
    assert outcome.of(Goodbye)[0].errors == 0
    losses = json.loads(outcome.stdout)
    told = {sample.step: sample.value for sample in outcome.of(LossSample)}
    assert told == {step: pytest.approx(losses[step], rel=1e-6) for step in (0, 10, 20, 30)}
