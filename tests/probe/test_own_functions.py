"""Autocast from outside, and functions of the script that have a backward of their own."""

from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch import nn

from perftui.trainer.probe.altering.own_functions import functions_behind

from .altered_scripts import PLAIN, train_on, trained

if TYPE_CHECKING:
    from .conftest import Hub

pytestmark = pytest.mark.torch

PRODUCT = """
class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        kinds.add((str(x.dtype), str(weight.dtype)))
        return x @ weight.t()

    @staticmethod
    def backward(ctx, gradient):
        x, weight = ctx.saved_tensors
        return gradient @ weight, gradient.t() @ x

"""
APART = """
class Product(torch.autograd.Function):
    @staticmethod
    def forward(x, weight):
        kinds.add((str(x.dtype), str(weight.dtype)))
        return x @ weight.t()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, gradient):
        x, weight = ctx.saved_tensors
        return gradient @ weight, gradient.t() @ x

"""
PREPARED = PRODUCT.replace(
    "    def forward", "    @torch.amp.custom_fwd(device_type='cpu')\n    def forward"
).replace(
    "gradient @ weight, gradient.t() @ x", "gradient.float() @ weight, gradient.float().t() @ x.float()"
)
NET = """
kinds = set()

class Net(Net):
    def forward(self, images):
        return Product.apply(self.features(images), self.head.weight)

"""
CHECKPOINTED = NET.replace(
    "Product.apply(self.features(images), self.head.weight)",
    "torch.utils.checkpoint.checkpoint(self.whole, images, use_reentrant=False)\n\n"
    "    def whole(self, images):\n"
    "        return Product.apply(self.features(images), self.head.weight)",
)
BOTH_FLOAT32 = [["torch.float32", "torch.float32"]]


@pytest.mark.long
@pytest.mark.parametrize(
    ("body", "kinds"),
    [
        pytest.param(PRODUCT + NET, BOTH_FLOAT32, id="in-one"),
        pytest.param(APART + NET, BOTH_FLOAT32, id="context-apart"),
        pytest.param(PRODUCT + CHECKPOINTED, BOTH_FLOAT32, id="checkpointed"),
        pytest.param(
            PREPARED + NET, [["torch.bfloat16", "torch.float32"], *BOTH_FLOAT32], id="written-for-autocast"
        ),
    ],
)
def test_a_backward_of_the_script_does_not_end_the_training(
    module_hub: "Hub", body: str, kinds: list[list[str]]
) -> None:
    script = train_on("import torch.utils.checkpoint\n" + body + PLAIN).replace(
        '{"losses": losses}', '{"losses": losses, "kinds": sorted(kinds)}'
    )
    plain, _ = trained(module_hub, script, {})
    said, told = trained(module_hub, script, {"precision.autocast": "bf16"})
    assert (told.failed, told.settings["precision.autocast"]) == ({}, "bf16")
    assert said["losses"] == pytest.approx(plain["losses"], abs=5e-3)
    assert said["losses"][1:] != plain["losses"][1:], "what stands round it is cast"
    assert said["kinds"] == kinds


class Twice(torch.autograd.Function):
    """Not written for autocast."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:  # noqa: ANN401 (torch's)
        del ctx
        return x * 2

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> torch.Tensor:  # noqa: ANN401 (torch's)
        del ctx
        return gradients[0] * 2


class Kernel(Twice):
    """Takes lower precision alone."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:  # noqa: ANN401 (torch's)
        ctx.save_for_backward(x)
        return x * 2


class Prepared(Twice):
    """Written for autocast."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:  # noqa: ANN401 (torch's)
        del ctx
        return x * 2


_prepared: Any = Prepared
_custom_fwd: Any = vars(torch.amp)["custom_fwd"]
_prepared.forward = staticmethod(_custom_fwd(Prepared.forward, device_type="cpu"))


def test_which_functions_are_found() -> None:
    x = nn.Parameter(torch.ones(2))
    assert functions_behind({"a": [Twice.apply(x).sum()]}) == {Twice}
    assert functions_behind(Prepared.apply(x)) == set()
    assert functions_behind(Kernel.apply(x.bfloat16())) == set()
    assert functions_behind(Kernel.apply(x)) == {Kernel}
    assert functions_behind(x * 2) == set()
    assert functions_behind(None) == set()
