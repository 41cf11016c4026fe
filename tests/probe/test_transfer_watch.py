"""Standing in for torch's copies: only while asked, only in the training thread, never in a forked child."""

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
import torch

from perftui.trainer.probe.border import FAILURES_ALLOWED, Border
from perftui.trainer.probe.device_track import DeviceTrack
from perftui.trainer.probe.phase_sampling import PhaseSampling
from perftui.trainer.probe.stamps import StampRing
from perftui.trainer.probe.transfer_watch import TransferWatch

if TYPE_CHECKING:
    from tests.probe.conftest import Hub

pytestmark = pytest.mark.torch
NAMES = ("to", "cuda", "copy_")


def own_attributes() -> list[str]:
    return [name for name in NAMES if name in vars(torch.Tensor)]


def test_calls_are_followed_from_begin_to_end_and_give_what_they_gave() -> None:
    heard: list[object] = []
    watch = TransferWatch(Border(), lambda: heard.append("begin"), heard.append)
    original = torch.Tensor.to
    assert watch.begin(always=True)
    assert own_attributes() == list(NAMES)
    try:
        values = torch.arange(3.0)
        assert values.to(torch.int64).tolist() == [0, 1, 2]
        target = torch.zeros(3)
        assert target.copy_(values) is target
        assert target.tolist() == [0.0, 1.0, 2.0]
        elsewhere = threading.Thread(target=lambda: values.to(torch.int32))
        elsewhere.start()
        elsewhere.join()
        with pytest.raises((TypeError, RuntimeError)):
            values.to("no such device")
    finally:
        watch.end()
    assert heard == ["begin", False] * 3  # none of them went to a device
    assert own_attributes() == []
    assert torch.Tensor.to is original
    values.to(torch.int16)
    assert len(heard) == 6


def patched(calls: list[str], name: str) -> Callable[..., Any]:
    original = getattr(torch.Tensor, name)

    def counted(self: torch.Tensor, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        calls.append(name)
        return original(self, *args, **kwargs)

    return counted


@pytest.mark.parametrize("name", NAMES)
def test_a_patch_of_the_scripts_is_there_again(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    patch = patched(calls, name)
    monkeypatch.setattr(torch.Tensor, name, patch, raising=False)
    watch = TransferWatch(Border(), lambda: None, lambda _copied: None)
    for number in range(1, 4):
        assert watch.begin(always=True)
        torch.zeros(1).to(torch.int64).copy_(torch.ones(1))
        watch.end()
        assert vars(torch.Tensor)[name] is patch
        assert calls == ([] if name == "cuda" else [name] * number)
    watch.end()
    assert own_attributes() == [name]


def test_a_patch_put_over_ours_stays_and_each_copy_is_heard_once(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[object] = []
    calls: list[str] = []
    watch = TransferWatch(Border(), lambda: heard.append("begin"), heard.append)
    watch.begin(always=True)
    patch = patched(calls, "to")
    with monkeypatch.context() as script:
        script.setattr(torch.Tensor, "to", patch)
        watch.end()
        assert own_attributes() == ["to"]
        assert torch.Tensor.to is patch
        torch.ones(1).to(torch.int64)
        assert (calls, heard) == (["to"], []), "the stand-in below is off"
        watch.begin(always=True)
        torch.ones(1).to(torch.int64)
        watch.end()
        assert (calls, heard) == (["to"] * 2, ["begin", False])
        assert torch.Tensor.to is patch
    delattr(torch.Tensor, "to")
    assert own_attributes() == []


def test_a_failing_follower_costs_the_script_nothing() -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("broken")

    border = Border()
    watch = TransferWatch(border, fail, fail)
    watch.begin(always=True)
    try:
        assert [torch.ones(1).to(torch.int64).item() for _ in range(9)] == [1] * 9
    finally:
        watch.end()
    assert border.errors == 2 * FAILURES_ALLOWED


def test_a_process_is_not_followed_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = [0.0]
    monkeypatch.setattr("perftui.trainer.probe.transfer_watch.monotonic", lambda: now_s[0])
    watch = TransferWatch(Border(), lambda: None, lambda _copied: None)

    def begins() -> bool:
        begun = watch.begin(always=False)
        watch.end()
        return begun

    assert [begins() for _ in range(30)] == [True] * 24 + [False] * 6
    now_s[0] = 31.0
    assert [begins(), begins()] == [True, False]
    for _ in range(400):
        now_s[0] += 31.0
        begins()
    now_s[0] += 31.0
    assert not begins()
    assert watch.begin(always=True)
    watch.end()


class LostDevice(DeviceTrack):
    def mark(self, code: int) -> None:
        raise RuntimeError(f"device lost at {code}")


def test_a_device_that_fails_is_not_asked_again_and_torch_is_left_as_it_was() -> None:
    border = Border()
    sampling = PhaseSampling(StampRing(lambda _number, _at_ns, _cpu_ns: None), border)
    sampling.device = LostDevice()
    sampling.on = sampling._on_cuda = True  # pyright: ignore[reportPrivateUsage]
    sampling._transfers.begin(always=True)  # pyright: ignore[reportPrivateUsage]
    border.guard("sampling", lambda: sampling.at_step(5, 100, torch.device("cuda:0"), fetched=True))()
    assert border.take_reports() == ["sampling: RuntimeError: device lost at 2"]
    assert not sampling.on
    assert own_attributes() == []
    assert sampling.next_at > 1 << 60


FOLLOWED = """
import torch
from torch.utils.data import DataLoader, Dataset
from perftui.trainer.probe import install

probe = install._installed[0]

class Data(Dataset):
    def __len__(self):
        return 8
    def __getitem__(self, index):
        return torch.tensor([float("to" in vars(torch.Tensor)), float(probe.recorder.sampling.on)])

probe.recorder.sampling._transfers.begin(always=True)
probe.recorder.sampling.on = True
assert "to" in vars(torch.Tensor)
batch = next(iter(DataLoader(Data(), batch_size=8, num_workers=2)))
print(int(batch.sum()))
probe.recorder.sampling.forget()
"""


def test_workers_forked_while_a_step_is_followed_have_torchs_own_functions(hub: "Hub") -> None:
    outcome = hub.train(FOLLOWED)
    assert outcome.exit_code == 0, outcome.stderr
    assert outcome.stdout == "0\n"
