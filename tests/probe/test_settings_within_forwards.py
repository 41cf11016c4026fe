"""Settings of the module where the script's own doing stands within its forward, or traces it."""

from typing import TYPE_CHECKING

import pytest

from perftui.ipc.settings import Settings

from .altered_scripts import PLAIN, train_on, trained

if TYPE_CHECKING:
    from .conftest import Hub

pytestmark = [pytest.mark.torch, pytest.mark.long]

REPLACED = """
def prepared(model, dtype=torch.bfloat16):
    # as accelerate's `prepare` does
    model.forward = torch.autocast("cpu", dtype=dtype)(model.forward)
    return model

"""
OPTIMIZER = "\noptimizer = torch.optim.SGD(model.parameters(), lr=0.01)"
DECORATED = (
    """
class Net(Net):
    @torch.autocast("cpu", dtype=torch.bfloat16)
    def forward(self, images):
        return super().forward(images)

"""
    + PLAIN
)
WITHIN = (
    """
class Net(Net):
    def __init__(self):
        super().__init__()
        self.place = nn.Parameter(torch.zeros(1, 3, 8, 8))

    def forward(self, images):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return super().forward(images + self.place).float()

"""
    + PLAIN
)
ONE_LAYER = REPLACED + "model = prepared(nn.Linear(192, 4))" + OPTIMIZER
LATER = (
    """
class Net(Net):
    def forward(self, images):
        self.calls = getattr(self, "calls", 0) + 1
        with torch.autocast("cpu", dtype=torch.float16, enabled=self.calls > 1):
            return super().forward(images)

"""
    + PLAIN
)
A_SMALL_PART = (
    """
class Net(Net):
    def features(self, images):
        with torch.autocast("cpu", dtype=torch.float16):
            return super().features(images).float()

"""
    + PLAIN
)
SELF_FLOAT32 = DECORATED.replace("dtype=torch.bfloat16", "enabled=False")


@pytest.mark.parametrize(
    ("body", "forward"),
    [
        pytest.param(REPLACED + "model = prepared(Net())" + OPTIMIZER, "model(images)", id="replaced"),
        pytest.param(DECORATED, "model(images)", id="decorated"),
        pytest.param(WITHIN, "model(images)", id="within"),
        pytest.param(ONE_LAYER, "model(images.flatten(1))", id="one-layer"),
    ],
)
def test_autocast_of_the_script_within_the_forward(module_hub: "Hub", body: str, forward: str) -> None:
    script = train_on(body, forward).replace(
        '{"losses": losses}', '{"losses": losses, "step": "step" in vars(optimizer)}'
    )
    plain, _ = trained(module_hub, script, {})
    said, told = trained(module_hub, script, {"precision.autocast": "bf16"})
    assert (said, told.failed) == (plain, {})
    assert told.settings["precision.autocast"] == "bf16", "the script's own"
    said, told = trained(module_hub, script, {"precision.autocast": "fp16"})
    assert said == plain, "neither cast nor scaled"
    assert told.failed == {"precision.autocast": "the script uses autocast itself (bf16): change it there"}
    assert "precision.autocast" not in told.settings


@pytest.mark.parametrize(
    ("body", "in_force"),
    [pytest.param(LATER, "fp16", id="later"), pytest.param(SELF_FLOAT32, "off", id="switched-off")],
)
def test_what_is_in_force_is_read_within_the_forward(module_hub: "Hub", body: str, in_force: str) -> None:
    plain, _ = trained(module_hub, train_on(body), {})
    said, told = trained(module_hub, train_on(body), {"precision.autocast": "bf16"})
    assert told.failed == {"precision.autocast": f"{in_force} is in force within the forward"}
    assert "precision.autocast" not in told.settings
    assert said["losses"] == pytest.approx(plain["losses"], abs=5e-3)


def test_autocast_of_a_small_part_leaves_room_for_the_rest(module_hub: "Hub") -> None:
    plain, _ = trained(module_hub, train_on(A_SMALL_PART), {})
    said, told = trained(module_hub, train_on(A_SMALL_PART), {"precision.autocast": "bf16"})
    assert (told.failed, told.settings["precision.autocast"]) == ({}, "bf16")
    assert said["losses"] != plain["losses"]


EXPORTS = """
import warnings
warnings.filterwarnings("ignore")

def exported():
    found = {}
    traced = torch.jit.trace(model, images)
    found["trace"] = [torch.equal(traced(images), as_written(images)),
                      "BFloat16" in str(traced.inlined_graph)]
    inner = getattr(model, "module", model)
    found["inner"] = torch.equal(torch.jit.trace(inner, images)(images), as_written(images))
    whole = torch.fx.symbolic_trace(nn.Sequential(inner))
    found["fx"] = torch.equal(whole(images), as_written(images))
    program = torch.export.export(inner, (images,), strict=False)
    found["export"] = [torch.equal(program.module()(images), as_written(images)),
                       "bfloat16" in str(program.graph_module.code)]
    return found

def as_written(images):
    inner = getattr(model, "module", model)
    return nn.functional.linear(inner.features(images), inner.head.weight, inner.head.bias)
"""


@pytest.mark.parametrize(
    "settings",
    [
        {"compile.backend": "eager"},
        {"precision.autocast": "bf16"},
        {"compile.backend": "aot_eager", "precision.autocast": "bf16", "layout.channels_last": True},
    ],
    ids=lambda settings: ",".join(settings),
)
@pytest.mark.parametrize("wrapped", [False, True], ids=["alone", "ddp"])
def test_what_traces_the_model_finds_it_as_it_is_written(
    module_hub: "Hub", settings: Settings, wrapped: bool
) -> None:
    body = PLAIN
    if wrapped:
        body = (
            "import os\nos.environ.update(MASTER_ADDR='127.0.0.1', MASTER_PORT='0')\n"
            "import torch.distributed as dist\n"
            "dist.init_process_group('gloo', rank=0, world_size=1, store=dist.HashStore())\n"
            "model = nn.parallel.DistributedDataParallel(Net())" + OPTIMIZER
        )
    script = train_on(body + EXPORTS).replace("json.dumps({", "json.dumps({**exported(), ")
    said, told = trained(module_hub, script, settings)
    assert {name: said[name] for name in ("trace", "inner", "fx", "export")} == {
        "trace": [True, False],
        "inner": True,
        "fx": True,
        "export": [True, False],
    }
    assert told.failed == {}
    assert {name: told.settings[name] for name in settings} == settings


def test_an_export_amid_the_training_does_not_end_it(module_hub: "Hub") -> None:
    """As TensorBoard's add_graph does once the training is under way."""
    script = train_on(PLAIN).replace(
        "    loss.backward()",
        "    if len(losses) == 4:\n        torch.jit.trace(model, images)\n    loss.backward()",
    )
    plain, _ = trained(module_hub, script, {})
    said, told = trained(module_hub, script, {"compile.backend": "eager"})
    assert (said, told.failed) == (plain, {})
    assert told.settings["compile.backend"] == "eager"


A_PART_BEFORE = """
class Whole(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Flatten(), nn.Linear(192, 16), nn.ReLU())
        self.head = nn.Linear(16, 4)

    def forward(self, images):
        return self.head(self.encoder(images))

model = Whole()
"""


@pytest.mark.parametrize(
    "optimizers",
    [
        pytest.param(OPTIMIZER, id="one-optimizer"),
        pytest.param(
            "\nof_encoder = torch.optim.SGD(model.encoder.parameters(), lr=0.01)"
            "\noptimizer = torch.optim.SGD(model.head.parameters(), lr=0.01)",
            id="an-optimizer-of-the-part-first",
        ),
    ],
)
def test_a_part_that_is_called_before_its_whole(module_hub: "Hub", optimizers: str) -> None:
    script = train_on(A_PART_BEFORE + optimizers).replace(
        "    loss = nn",
        "    model.encoder(images).square().mean().backward()\n"
        "    if 'of_encoder' in globals():\n        of_encoder.step()\n    loss = nn",
    )
    script = script.replace(
        '{"losses": losses}',
        '{"losses": losses, "seams": [part.__dict__.get("_compiled_call_impl") is not None '
        "for part in (model, model.encoder)]}",
    )
    plain, _ = trained(module_hub, script, {})
    said, told = trained(module_hub, script, {"compile.backend": "eager"})
    assert (told.failed, told.settings["compile.backend"]) == ({}, "eager")
    assert said["losses"] == plain["losses"]
    assert said["seams"] == [True, False]


PENALTY = (
    "    images.requires_grad_(True)\n    slope, = torch.autograd.grad(model(images).sum(), images, "
    "create_graph=True)\n    (loss + slope.square().mean()).backward()"
)
KEPT_GRAPH = "    loss.backward(create_graph=True)"


@pytest.mark.parametrize("backward", [PENALTY, KEPT_GRAPH], ids=["penalty", "kept-graph"])
def test_gradients_that_are_differentiated_again(module_hub: "Hub", backward: str) -> None:
    script = "import warnings\nwarnings.filterwarnings('ignore')\n" + train_on(PLAIN).replace(
        "    loss.backward()", backward
    )
    plain, _ = trained(module_hub, script, {})
    said, told = trained(module_hub, script, {"compile.backend": "aot_eager"})
    assert said == plain
    assert "differentiates gradients again (create_graph)" in told.failed["compile.backend"]


TRANSFORMED = """
def transformed():
    names = {name: each.detach() for name, each in model.named_parameters()}
    def loss_of(parameters, image, label):
        said = torch.func.functional_call(model, parameters, (image[None],))
        return nn.functional.cross_entropy(said, label[None])
    each = torch.func.vmap(torch.func.grad(loss_of), in_dims=(None, 0, 0))(names, images, labels)
    return [round(value.norm().item(), 4) for value in each.values()]
"""


def test_gradients_of_each_sample_beside_the_training(module_hub: "Hub") -> None:
    script = train_on(PLAIN + TRANSFORMED).replace("json.dumps({", 'json.dumps({"each": transformed(), ')
    plain, _ = trained(module_hub, script, {})
    said, told = trained(module_hub, script, {"compile.backend": "aot_eager"})
    assert said["each"] == pytest.approx(plain["each"], rel=1e-3)
    assert (told.failed, told.settings["compile.backend"]) == ({}, "aot_eager")


COUNTED = """
def counted():
    from torch.utils.flop_counter import FlopCounterMode
    with FlopCounterMode(display=False) as counter:
        model(images)
    scripted = torch.jit.script(model)
    return [counter.get_total_flops(), torch.allclose(scripted(images), model(images), atol=0.05)]
"""


@pytest.mark.parametrize(
    "settings", [{"compile.backend": "aot_eager"}, {"precision.autocast": "bf16"}], ids=str
)
def test_what_counts_or_scripts_the_model(module_hub: "Hub", settings: Settings) -> None:
    script = train_on(PLAIN + COUNTED).replace("json.dumps({", 'json.dumps({"counted": counted(), ')
    script = "import warnings\nwarnings.filterwarnings('ignore')\n" + script
    plain, _ = trained(module_hub, script, {})
    said, told = trained(module_hub, script, settings)
    assert said["counted"] == plain["counted"]
    assert told.failed == {}
