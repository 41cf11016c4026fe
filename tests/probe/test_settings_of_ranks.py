"""Settings on two gloo ranks: arguments of DistributedDataParallel, modules under it and fully_shard."""

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from perftui.ipc.messages import Effective, Goodbye
from perftui.ipc.settings import Settings, SettingValue

from .altered_scripts import TWO_RANKS

if TYPE_CHECKING:
    from .conftest import Hub, Outcome

pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.long]
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
SHARDED = TWO_RANKS.replace(
    "model = DistributedDataParallel(net)",
    "from torch.distributed.fsdp import fully_shard\nfully_shard(net[3])\nfully_shard(net)\nmodel = net",
).replace("getattr(model, name)", "getattr(model, name, None)")


def trained(hub: "Hub", script: str, **settings: SettingValue) -> tuple[dict[str, Any], list[Effective]]:
    hub.apply(settings=settings)
    outcome = hub.train(script, launcher=TORCHRUN)
    assert outcome.exit_code == 0, outcome.stderr
    return said(outcome), [read_back(outcome, rank) for rank in (0, 1)]


def said(outcome: "Outcome") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(outcome.stdout.splitlines()[-1])
    return found


def read_back(outcome: "Outcome", rank: int) -> Effective:
    assert not any(message.errors for message in outcome.of(Goodbye, rank))
    assert outcome.steps(rank) == 12
    return outcome.of(Effective, rank)[-1]


@pytest.fixture(scope="module")
def as_written(module_hub: "Hub") -> dict[str, Any]:
    return trained(module_hub, TWO_RANKS)[0]


def test_arguments_of_ddp(module_hub: "Hub", as_written: dict[str, Any]) -> None:
    settings: Settings = {
        "ddp.bucket_cap_mb": 1,
        "ddp.gradient_as_bucket_view": True,
        "ddp.static_graph": True,
        "ddp.find_unused_parameters": True,
        "torchrun.nproc_per_node": 2,
    }
    now, told = trained(module_hub, TWO_RANKS, **settings)
    assert now["ddp"] == {
        "bucket_bytes_cap": 2**20,
        "gradient_as_bucket_view": True,
        "static_graph": True,
        "find_unused_parameters": True,
    }
    assert now["losses"] == pytest.approx(as_written["losses"], abs=1e-6)
    for rank in told:
        assert rank.failed == {}
        assert {name: rank.settings[name] for name in settings} == settings


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_the_module_within_is_compiled_and_the_wrapper_cast(
    module_hub: "Hub", as_written: dict[str, Any], precision: str
) -> None:
    settings: Settings = {
        "compile.backend": "aot_eager",
        "layout.channels_last": True,
        "precision.autocast": precision,
        "ddp.gradient_as_bucket_view": True,
    }
    now, told = trained(module_hub, TWO_RANKS, **settings)
    assert now["losses"] == pytest.approx(as_written["losses"], abs=2e-3)
    assert now["losses"][1:] != as_written["losses"][1:]
    assert now["keys"] == as_written["keys"]
    for rank in told:
        assert rank.failed == {}
        assert {name: rank.settings[name] for name in settings} == settings


def test_a_sharded_model(module_hub: "Hub", as_written: dict[str, Any]) -> None:
    pytest.importorskip("torch.distributed.fsdp", reason="torch 2.6")
    if not hasattr(sys.modules["torch.distributed.fsdp"], "fully_shard"):
        pytest.skip("fully_shard is new in torch 2.6")
    settings: Settings = {
        "compile.backend": "aot_eager",
        "optimizer.fused": True,
        "layout.channels_last": True,
        "precision.autocast": "fp16",
    }
    now, told = trained(module_hub, SHARDED, **settings)
    assert now["losses"] == pytest.approx(as_written["losses"], abs=1e-6)
    for rank in told:
        assert rank.settings["compile.backend"] == "aot_eager"
        assert (
            rank.failed["layout.channels_last"] == "the parameters are sharded (FSDP), which keeps them flat"
        )
        assert "all ranks must leave out the same steps: use bf16" in rank.failed["precision.autocast"]
        # torch has a fused kernel for sharded parameters with some optimizers, and for SGD not yet
        fused = rank.settings.get("optimizer.fused") is True
        assert fused is ("optimizer.fused" not in rank.failed)
