"""`optimizer.*` over checkpoints and GradScalers: what is built stays, what fails leaves nothing behind."""

import copy
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch import nn

from perftui.ipc.settings import Settings
from perftui.trainer.probe.altering.book import AlterationBook
from perftui.trainer.probe.altering.optimizer_arguments import patch_optimizers

from .altered_scripts import PLAIN, train_on, trained

if TYPE_CHECKING:
    from .conftest import Hub

pytestmark = pytest.mark.torch

KINDS: list[tuple[str, dict[str, Any]]] = [
    ("AdamW", {"lr": 0.01}),
    ("Adam", {"lr": 0.01, "amsgrad": True}),
    ("SGD", {"lr": 0.01, "momentum": 0.9}),
    ("Adagrad", {"lr": 0.01}),
]


@pytest.fixture(autouse=True)
def _constructors_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in list(vars(torch.optim).values()):
        if isinstance(kind, type) and issubclass(kind, torch.optim.Optimizer):
            monkeypatch.setattr(kind, "__init__", kind.__init__)


class Bench:
    """A small training that can be saved, resumed, and scaled."""

    def __init__(self, kind: str, arguments: dict[str, Any], *, scaled: bool) -> None:
        torch.manual_seed(0)
        self.weight: Any = nn.Parameter(torch.randn(5))
        self.optimizer = getattr(torch.optim, kind)([self.weight], **arguments)
        self.scaler: Any = torch.amp.GradScaler("cpu", init_scale=1024.0, enabled=scaled)

    def train(self, steps: int, *, broken: int | None = None) -> list[float]:
        for step in range(steps):
            self.optimizer.zero_grad()
            loss = (self.weight * torch.arange(5.0)).square().sum()
            self.scaler.scale(loss * (float("inf") if step == broken else 1.0)).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()
        found: list[float] = self.weight.detach().tolist()
        return found

    def resume(self, saved: dict[str, Any], weight: list[float]) -> None:
        self.optimizer.load_state_dict(saved)
        with torch.no_grad():
            self.weight.copy_(torch.tensor(weight))


@pytest.mark.parametrize("scaled", [False, True], ids=["plain", "scaled"])
@pytest.mark.parametrize(("kind", "arguments"), KINDS, ids=[kind for kind, _ in KINDS])
@pytest.mark.parametrize("asked", [{"optimizer.fused": True}, {"optimizer.foreach": True}], ids=str)
def test_a_checkpoint_does_not_take_the_arguments_back(
    kind: str, arguments: dict[str, Any], scaled: bool, asked: Settings
) -> None:
    written = Bench(kind, arguments, scaled=scaled)
    weight = written.train(2)
    saved = copy.deepcopy(written.optimizer.state_dict())
    before = copy.deepcopy(saved["param_groups"])
    expected = written.train(3)
    book = AlterationBook(asked, {})
    patch_optimizers(book)
    resumed = Bench(kind, arguments, scaled=scaled)
    resumed.resume(saved, weight)
    name = next(iter(asked)).removeprefix("optimizer.")
    assert [group[name] for group in resumed.optimizer.param_groups] == [True]
    assert saved["param_groups"] == before, "what the script has loaded stays as it is"
    assert resumed.train(3) == pytest.approx(expected, rel=1e-5)
    assert book.failed == {}


@pytest.mark.parametrize(("scaled", "broken"), [(False, None), (True, None), (True, 0), (True, 1)])
@pytest.mark.parametrize("resumed", [False, True], ids=["new", "resumed"])
def test_a_first_update_that_fails_is_done_as_the_script_has_it(
    monkeypatch: pytest.MonkeyPatch, scaled: bool, broken: int | None, resumed: bool
) -> None:
    arguments: dict[str, Any] = {"lr": 0.01}
    written = Bench("AdamW", arguments, scaled=scaled)
    weight = written.train(2 if resumed else 0)
    saved = copy.deepcopy(written.optimizer.state_dict())
    book = AlterationBook({"optimizer.fused": True}, {})
    patch_optimizers(book)

    def no_kernel(*_args: object, **_kwargs: object) -> None:
        raise NotImplementedError("no such kernel")

    monkeypatch.setattr(torch, "_fused_adamw_", no_kernel)
    monkeypatch.setattr(torch, "_fused_adam_", no_kernel)
    altered = Bench("AdamW", arguments, scaled=scaled)
    altered.resume(saved, weight)
    said = altered.train(4, broken=broken)
    assert said == pytest.approx(written.train(4, broken=broken), rel=1e-6)
    assert "no such kernel" in book.failed["optimizer.fused"]
    altered.optimizer.load_state_dict(altered.optimizer.state_dict())
    assert not altered.optimizer.param_groups[0]["fused"], "what has failed is not put back"
    altered.train(1)


def test_a_refusal_of_the_constructor_leaves_no_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    class Strict(torch.optim.SGD):
        def __init__(self, params: Any, fused: bool | None = None) -> None:  # noqa: ANN401 (as torch's)
            super().__init__(params, lr=0.01, fused=fused)
            if fused:
                raise RuntimeError("not for such parameters")

    monkeypatch.setattr(torch.optim, "Strict", Strict, raising=False)
    book = AlterationBook({"optimizer.fused": True}, {})
    patch_optimizers(book)
    bench = Bench("Strict", {}, scaled=True)
    assert "not for such parameters" in book.failed["optimizer.fused"]
    assert bench.train(2) != Bench("Strict", {}, scaled=True).weight.tolist()


RESUMED = """
model = Net()
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
for parameter in model.parameters():
    parameter.grad = torch.zeros_like(parameter)
saved = {"state": {}, "param_groups": [{**optimizer.state_dict()["param_groups"][0], "fused": None}]}
optimizer.load_state_dict(saved)
"""


@pytest.mark.long
def test_a_resumed_training_says_what_is_in_force(module_hub: "Hub") -> None:
    said, told = trained(module_hub, train_on(RESUMED), {"optimizer.fused": True})
    assert (told.failed, told.settings["optimizer.fused"]) == ({}, True)
    plain, _ = trained(module_hub, train_on(RESUMED), {})
    assert said["losses"] == pytest.approx(plain["losses"], rel=1e-4)


@pytest.mark.long
def test_an_argument_that_the_script_takes_away_is_told(module_hub: "Hub") -> None:
    script = train_on(PLAIN).replace(
        "losses.append(loss.item())",
        "losses.append(loss.item())\n    optimizer.param_groups[0]['foreach'] = None",
    )
    _, told = trained(module_hub, script, {"optimizer.foreach": True})
    assert told.failed == {
        "optimizer.foreach": "the script gives its groups of parameters another one (None)"
    }
