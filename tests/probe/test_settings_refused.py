"""Settings that cannot be applied to a script: told with the reason, and the training as it is written."""

import json
from typing import TYPE_CHECKING, Any

import pytest

from perftui.ipc.messages import Effective, Goodbye

from .altered_scripts import PLAIN, train_on

if TYPE_CHECKING:
    from .conftest import Hub

pytestmark = [pytest.mark.torch, pytest.mark.long]

ONLY_ROWS = (
    """
class Net(Net):
    def features(self, images):
        return torch.relu(self.conv(images.view(-1, 3, 8, 8).view(-1, 3 * 64).view(-1, 3, 8, 8))).flatten(1)

"""
    + PLAIN
)
ADAFACTOR = """
class Own(torch.optim.Optimizer):
    def __init__(self, params):
        super().__init__(params, {"lr": 0.01})

    def step(self):
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter.data -= 0.01 * parameter.grad

model = Net()
optimizer = Own(model.parameters())
"""


@pytest.mark.parametrize(
    ("body", "forward", "settings", "reasons"),
    [
        pytest.param(
            PLAIN,
            "model.head(model.features(images))",
            {"compile.backend": "eager", "precision.autocast": "bf16", "layout.channels_last": True},
            ["the script calls parts of Net (Conv2d, Linear), or other methods of it, and not Net itself"]
            * 3,
            id="parts",
        ),
        pytest.param(
            PLAIN,
            "model.forward(images)",
            {"compile.backend": "eager"},
            ["the script calls parts of Net (Conv2d, Linear), or other methods of it, and not Net itself"],
            id="forward",
        ),
        pytest.param(
            PLAIN,
            "model(images)",
            {"ddp.static_graph": True, "precision.tf32": True, "cudnn.benchmark": True},
            [
                "the script builds no DistributedDataParallel",
                "the training runs on cpu: TF32 is a format of NVIDIA GPUs",
                "the training runs on cpu: cuDNN is for GPUs",
            ],
            id="without-gpu-or-ranks",
        ),
        pytest.param(
            PLAIN + "\nmodel = torch.compile(model, backend='eager')",
            "model(images)",
            {"compile.backend": "aot_eager"},
            ["the script compiles its model itself: it is left as it is"],
            id="compiled",
        ),
        pytest.param(
            PLAIN + "\nmodel.compile(backend='eager')",
            "model(images)",
            {"compile.backend": "aot_eager"},
            ["the script compiles its model itself: it is left as it is"],
            id="compiled-in-place",
        ),
        pytest.param(
            ONLY_ROWS,
            "model(images)",
            {"layout.channels_last": True, "compile.backend": "nowhere"},
            [
                "the forward fails with it: RuntimeError: view size is not compatible",
                "torch.compile refused it",
            ],
            id="view",
        ),
        pytest.param(
            ADAFACTOR,
            "model(images)",
            {"optimizer.fused": True},
            ["Own takes no fused"],
            id="own-optimizer",
        ),
        pytest.param(
            "model = Net().double()\noptimizer = torch.optim.SGD(model.parameters(), lr=0.01)",
            "model(images.double())",
            {"precision.autocast": "bf16"},
            ["the parameters are in float64 already"],
            id="double",
        ),
        pytest.param(
            "model = nn.Sequential(nn.Flatten(), nn.Linear(192, 8), nn.ReLU(), nn.Linear(8, 4))\n"
            "optimizer = torch.optim.LBFGS(model.parameters(), max_iter=1)\n"
            "step = optimizer.step\n"
            "optimizer.step = lambda: step(lambda: loss)",
            "model(images)",
            {"layout.channels_last": True, "optimizer.foreach": True},
            ["the model has no parameter of four dimensions (kernels of images)", "LBFGS takes no foreach"],
            id="nothing-of-four-dimensions",
        ),
    ],
)
def test_reasons(
    module_hub: "Hub", body: str, forward: str, settings: dict[str, Any], reasons: list[str]
) -> None:
    script = train_on(body, forward)
    module_hub.apply(settings={})
    before = module_hub.train(script)
    module_hub.apply(settings=settings)
    outcome = module_hub.train(script)
    assert outcome.exit_code == 0, outcome.stderr
    assert json.loads(outcome.stdout.splitlines()[-1]) == json.loads(before.stdout.splitlines()[-1])
    told = outcome.of(Effective)[-1]
    for name, reason in zip(settings, reasons, strict=True):
        assert reason in told.failed[name]
        assert told.settings.get(name) != settings[name]
    assert set(told.failed) == set(settings)
    assert not any(message.errors for message in outcome.of(Goodbye))


def test_without_a_step_everything_has_failed(module_hub: "Hub") -> None:
    settings = {
        "compile.mode": "default",
        "gc.freeze": True,
        "ddp.static_graph": True,
        "optimizer.fused": True,
    }
    module_hub.apply(settings=settings)
    outcome = module_hub.train(
        """
import torch
weight = torch.zeros(4, requires_grad=True)
for _ in range(5):
    (weight * 2).sum().backward()
"""
    )
    assert outcome.exit_code == 0
    assert outcome.of(Effective)[-1].failed == dict.fromkeys(
        settings, "no step of an optimizer of torch was seen"
    )


def test_a_graph_break_under_fullgraph_ends_in_the_script_as_it_is(module_hub: "Hub") -> None:
    body = (
        """
class Net(Net):
    def features(self, images):
        torch._dynamo.graph_break()
        return super().features(images)

"""
        + PLAIN
    )
    module_hub.apply(settings={"compile.backend": "eager", "compile.fullgraph": True})
    outcome = module_hub.train("import torch._dynamo\n" + train_on(body))
    assert outcome.exit_code == 0, outcome.stderr
    assert outcome.steps() == 8
    told = outcome.of(Effective)[-1]
    assert set(told.failed) == {"compile.backend", "compile.fullgraph"}
    assert "the forward fails with it: Unsupported" in told.failed["compile.fullgraph"]
