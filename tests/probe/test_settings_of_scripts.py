"""Settings on scripts that do by themselves what the setting is about, or that step in other ways."""

from typing import TYPE_CHECKING, Any

import pytest
import torch

from perftui.ipc.settings import Settings
from perftui.trainer.probe.altering.book import AlterationBook
from perftui.trainer.probe.altering.switches import SWITCHES, Switches

from .altered_scripts import PLAIN, train_on, trained

if TYPE_CHECKING:
    from .conftest import Hub

pytestmark = [pytest.mark.torch, pytest.mark.long]
CLOSURE = train_on(PLAIN).replace(
    """    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(images), labels)
    loss.backward()
    optimizer.step()
""",
    """    def closure():
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        return loss
    loss = optimizer.step(closure)
""",
)
OWN_AUTOCAST = train_on(PLAIN).replace(
    "loss = nn.functional", "with torch.autocast('cpu', dtype=torch.bfloat16):\n        loss = nn.functional"
)


@pytest.fixture(scope="module")
def as_written(module_hub: "Hub") -> list[float]:
    losses: list[float] = trained(module_hub, train_on(PLAIN), {})[0]["losses"]
    return losses


def test_an_optimizer_that_is_given_a_closure(module_hub: "Hub", as_written: list[float]) -> None:
    settings: Settings = {
        "compile.backend": "eager",
        "precision.autocast": "bf16",
        "layout.channels_last": True,
    }
    said, told = trained(module_hub, CLOSURE, settings)
    assert told.failed == {}
    assert {name: told.settings[name] for name in settings} == settings
    assert said["losses"][0] == as_written[0]
    assert said["losses"] == pytest.approx(as_written, abs=5e-3)
    assert said["losses"][1:] != as_written[1:]


def test_fp16_with_a_closure_is_given_up_whole(module_hub: "Hub", as_written: list[float]) -> None:
    said, told = trained(module_hub, CLOSURE, {"precision.autocast": "fp16"})
    assert "the optimizer is given a closure" in told.failed["precision.autocast"]
    assert said["losses"] == as_written, "without scaled losses there is no fp16 either"


def test_autocast_of_the_script(module_hub: "Hub", as_written: list[float]) -> None:
    said, told = trained(module_hub, OWN_AUTOCAST, {"precision.autocast": "off"})
    assert (said["losses"], told.failed) == (as_written, {})
    assert told.settings["precision.autocast"] == "off"
    said, told = trained(module_hub, OWN_AUTOCAST, {"precision.autocast": "bf16"})
    assert told.failed == {}
    assert told.settings["precision.autocast"] == "bf16"
    assert said["losses"] != as_written
    own = said["losses"]
    said, told = trained(module_hub, OWN_AUTOCAST, {"precision.autocast": "fp16"})
    assert told.failed == {"precision.autocast": "the script uses autocast itself (bf16): change it there"}
    assert said["losses"] == own


def test_a_grad_scaler_of_the_script_is_enough(module_hub: "Hub", as_written: list[float]) -> None:
    script = train_on(PLAIN + "\nscaler = torch.amp.GradScaler('cpu', init_scale=1024.0)").replace(
        "loss.backward()\n    optimizer.step()",
        "scaler.scale(loss).backward()\n    scaler.step(optimizer)\n    scaler.update()",
    )
    script = script.replace('{"losses": losses}', '{"losses": losses, "step": "step" in vars(optimizer)}')
    said, told = trained(module_hub, script, {"precision.autocast": "fp16"})
    assert told.failed == {}
    assert told.settings["precision.autocast"] == "fp16"
    assert said["losses"] == pytest.approx(as_written, abs=5e-3)
    assert said["losses"][1:] != as_written[1:]
    assert said["step"] is False, "no second scaling"


def test_anomaly_detection_stays_off_whatever_the_script_does(module_hub: "Hub") -> None:
    script = train_on(PLAIN + "\nseen = set()\ntorch.autograd.set_detect_anomaly(True)").replace(
        "    loss.backward()",
        "    with torch.autograd.detect_anomaly(check_nan=False):\n"
        "        seen.add(torch.is_anomaly_enabled())\n"
        "        loss.backward()",
    )
    script = script.replace('{"losses": losses}', '{"seen": sorted(seen)}')
    said, told = trained(module_hub, script, {"debug.anomaly": False})
    assert said == {"seen": [False]}
    assert (told.failed, told.settings["debug.anomaly"]) == ({}, False)
    said, told = trained(module_hub, train_on(PLAIN), {"debug.anomaly": True})
    assert (told.failed, told.settings["debug.anomaly"]) == ({}, True)


WHAT_IS_PATCHED = """
import sys
print(json.dumps({
    "call": torch.nn.Module.__call__ is torch.nn.Module._wrapped_call_impl,
    "altering": any(name.startswith("perftui.trainer.probe.altering") for name in sys.modules),
    "adam": hasattr(torch.optim.Adam.__init__, "__wrapped__"),
    "ddp": bool(getattr(torch.nn.parallel.DistributedDataParallel.__init__, "__wrapped__", None)),
    "hooks": len(sys.modules["torch.optim.optimizer"]._global_optimizer_post_hooks),
}))
"""


def test_nothing_is_hooked_that_is_not_asked_for(module_hub: "Hub") -> None:
    plain, _ = trained(module_hub, train_on(PLAIN) + WHAT_IS_PATCHED, {"loader.num_workers": 0})
    assert plain == {"call": True, "altering": False, "adam": False, "ddp": True, "hooks": 1}
    after, told = trained(module_hub, train_on(PLAIN) + WHAT_IS_PATCHED, {"compile.backend": "eager"})
    assert told.failed == {}
    assert after == {**plain, "altering": True}, "what watches the first step has gone again"


@pytest.fixture
def _switches_restored() -> Any:  # noqa: ANN401 (a generator of nothing)
    before = (
        torch.get_float32_matmul_precision(),
        torch.backends.cudnn.allow_tf32,
        torch.backends.cudnn.benchmark,
    )
    yield
    torch.set_float32_matmul_precision(before[0])
    torch.backends.cudnn.allow_tf32, torch.backends.cudnn.benchmark = before[1:]


def _hopper(_device: torch.device) -> tuple[int, int]:
    return 9, 0


def _volta(_device: torch.device) -> tuple[int, int]:
    return 7, 0


@pytest.mark.usefixtures("_switches_restored")
def test_switches_for_a_gpu_are_set_and_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_capability", _hopper)
    book = AlterationBook({"precision.tf32": True, "cudnn.benchmark": True}, {})
    switches = Switches(book)
    switches.set_first(torch.device("cuda", 0))
    assert book.failed == {}
    assert torch.backends.cuda.matmul.allow_tf32
    assert torch.backends.cudnn.allow_tf32
    assert [SWITCHES[name].read() for name in book.asked] == [True, True]
    torch.backends.cudnn.benchmark = False
    torch.set_float32_matmul_precision("highest")
    switches.hold()
    assert [SWITCHES[name].read() for name in book.asked] == [True, True]
    for _ in range(3):
        torch.backends.cudnn.benchmark = False
        switches.hold()
    assert "again and again" in book.failed["cudnn.benchmark"]
    assert "precision.tf32" not in book.failed


@pytest.mark.usefixtures("_switches_restored")
def test_tf32_off_and_on_an_old_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_capability", _volta)
    book = AlterationBook({"precision.tf32": True}, {})
    Switches(book).set_first(torch.device("cuda", 0))
    assert book.failed == {"precision.tf32": "this GPU has no TF32 (compute capability below 8.0)"}
    torch.set_float32_matmul_precision("high")
    book = AlterationBook({"precision.tf32": False}, {})
    Switches(book).set_first(torch.device("cuda", 0))
    assert book.failed == {}
    assert SWITCHES["precision.tf32"].read() is False
    assert torch.get_float32_matmul_precision() == "highest"
