"""Settings of the optimised module on unmodified scripts: in force, and the training is the same."""

import hashlib
import json
from typing import TYPE_CHECKING, Any

import pytest

from perftui.ipc.messages import Effective, Goodbye

from .altered_scripts import CONVOLUTIONS, PLAIN, train_on

if TYPE_CHECKING:
    from .conftest import Hub, Outcome

pytestmark = [pytest.mark.torch, pytest.mark.long]
ROUNDING = 2e-3
"""Of a loss near 1.4, in lower precision over twelve steps."""


@pytest.fixture(scope="module")
def as_written(module_hub: "Hub") -> dict[str, Any]:
    module_hub.apply(settings={})
    found: dict[str, Any] = said(module_hub.train(CONVOLUTIONS))
    return found


def said(outcome: "Outcome") -> Any:  # noqa: ANN401 (what a script says)
    assert outcome.exit_code == 0, outcome.stderr
    return json.loads(outcome.stdout.splitlines()[-1])


def effective(outcome: "Outcome", rank: int = 0) -> Effective:
    """Return the last reading; the probe itself must not have failed anywhere."""
    assert not any(message.errors for message in outcome.of(Goodbye, rank))
    return outcome.of(Effective, rank)[-1]


@pytest.mark.parametrize(
    "settings",
    [
        {"compile.backend": "aot_eager", "compile.dynamic": True, "optimizer.foreach": True},
        {"compile.mode": "default", "compile.backend": "eager", "compile.fullgraph": True},
        {
            "compile.mode": "off",
            "debug.anomaly": False,
            "debug.launch_blocking": False,
            "gc.freeze": True,
            "layout.channels_last": False,
            "optimizer.foreach": False,
            "optimizer.fused": False,
            "precision.autocast": "off",
        },
    ],
    ids=lambda settings: ",".join(settings),
)
def test_the_training_is_the_same_to_the_last_bit(
    module_hub: "Hub", as_written: dict[str, Any], settings: dict[str, Any]
) -> None:
    module_hub.apply(settings=settings)
    disabled: dict[str, Any] = {"TORCH_COMPILE_DISABLE": "1"} if settings.get("compile.mode") == "off" else {}
    outcome = module_hub.train(CONVOLUTIONS, **disabled)
    assert said(outcome) == as_written
    told = effective(outcome)
    assert told.failed == {}
    assert {name: told.settings[name] for name in settings} == settings
    assert outcome.steps() == 12


@pytest.mark.parametrize(
    "settings",
    [
        {"precision.autocast": "fp16"},
        {"layout.channels_last": True, "optimizer.fused": True},
        {"compile.mode": "default"},
        {"compile.backend": "aot_eager", "precision.autocast": "bf16", "layout.channels_last": True},
    ],
    ids=lambda settings: ",".join(settings),
)
def test_the_training_is_the_same_but_for_rounding(
    module_hub: "Hub", as_written: dict[str, Any], settings: dict[str, Any]
) -> None:
    module_hub.apply(settings=settings)
    outcome = module_hub.train(CONVOLUTIONS)
    now = said(outcome)
    assert now["losses"] == pytest.approx(as_written["losses"], abs=ROUNDING)
    if "precision.autocast" in settings:
        assert now["losses"][1:] != as_written["losses"][1:]
    assert now["losses"][0] == as_written["losses"][0], "the first step runs as it is written"
    assert now["kinds"] == ["torch.float32"], "a loss in lower precision would be another training"
    assert now["keys"] == as_written["keys"]
    assert now["last"] is ("layout.channels_last" in settings)
    told = effective(outcome)
    assert told.failed == {}
    assert {name: told.settings[name] for name in settings} == settings


def test_the_script_stays_as_it_is(module_hub: "Hub") -> None:
    module_hub.apply(settings={"compile.backend": "eager", "layout.channels_last": True})
    module_hub.train(CONVOLUTIONS)
    written = (module_hub.work / "train.py").read_bytes()
    assert hashlib.sha256(written).digest() == hashlib.sha256(CONVOLUTIONS.encode()).digest()


def test_a_gan_has_both_its_modules_altered(module_hub: "Hub") -> None:
    script = """
import json, torch
from torch import nn
torch.manual_seed(0)
torch.set_num_threads(1)
maker = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 8))
critic = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
of_maker = torch.optim.Adam(maker.parameters())
of_critic = torch.optim.Adam(critic.parameters())
for step in range(6):
    of_critic.zero_grad()
    (critic(maker(torch.randn(4, 4)).detach()).mean() - critic(torch.randn(4, 8)).mean()).backward()
    of_critic.step()
    if step % 2:
        of_maker.zero_grad()
        (-critic(maker(torch.randn(4, 4))).mean()).backward()
        of_maker.step()
__import__("time").sleep(2)
print(json.dumps([part.__dict__.get("_compiled_call_impl") is not None for part in (maker, critic)]))
"""
    module_hub.apply(settings={"compile.backend": "eager", "precision.autocast": "bf16"})
    outcome = module_hub.train(script)
    assert said(outcome) == [True, True]
    told = effective(outcome)
    assert told.failed == {}
    assert told.settings["compile.backend"] == "eager"
    assert told.settings["precision.autocast"] == "bf16"


def test_two_towers_and_a_layer_alone_are_whole_models(module_hub: "Hub") -> None:
    body = """
one, two = nn.Sequential(nn.Flatten(), nn.Linear(192, 32), nn.ReLU()), nn.Linear(32, 4)
model = nn.ModuleList([one, two])
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
del model
"""
    module_hub.apply(settings={"compile.backend": "eager"})
    outcome = module_hub.train(train_on(body, "two(one(images))"))
    assert effective(outcome).failed == {}
    single = "model = nn.Linear(192, 4)\noptimizer = torch.optim.SGD(model.parameters(), lr=0.01)"
    outcome = module_hub.train(train_on(single, "model(images.flatten(1))"))
    assert effective(outcome).failed == {}


def test_copies_pickles_and_evaluation_of_an_altered_model(module_hub: "Hub") -> None:
    script = (
        train_on(PLAIN)
        + """
import copy, io
twin = copy.deepcopy(model)
stream = io.BytesIO()
torch.save(model, stream)
stream.seek(0)
again = torch.load(stream, weights_only=False)
model.eval()
with torch.no_grad():
    here = model(images)
    print(json.dumps({
        "same": [torch.allclose(here, other.eval()(images)) for other in (twin, again)],
        "altered": [other.__dict__.get("_compiled_call_impl") is not None for other in (model, twin, again)],
        "losses": losses,
    }))
"""
    )
    module_hub.apply(settings={"precision.autocast": "bf16"})
    now = said(module_hub.train(script))
    assert now["same"] == [True, True], "without gradients nothing is cast"
    assert now["altered"] == [True, False, False]
