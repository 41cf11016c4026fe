"""Events and losses are on the device that trains, which need not be the current one; stand-ins for a GPU."""

from typing import Any

import pytest
import torch

from perftui.trainer.probe.border import Border
from perftui.trainer.probe.device_track import DeviceTrack
from perftui.trainer.probe.loader_settings import LoaderBook
from perftui.trainer.probe.loss import EVERY_BATCHES, LossSampler
from perftui.trainer.probe.phase_sampling import PhaseSampling
from perftui.trainer.probe.recorder import Recorder
from perftui.trainer.probe.stamps import (
    BACKWARD_BEGIN,
    FETCH_BEGIN,
    FETCH_END,
    H2D_BEGIN,
    H2D_END,
    OPTIMIZER_END,
    StampRing,
)

pytestmark = pytest.mark.torch

FIRST, SECOND = torch.device("cuda:0"), torch.device("cuda:1")


class Cuda:
    """What the probe asks of `torch.cuda`, with cuda:0 as the current device outside of `device`."""

    def __init__(self) -> None:
        self.current = FIRST
        self.touched: list[torch.device] = []
        """By each call that would make a context."""
        self.capturing: set[torch.device] = set()
        self.stream = "default"
        """The current one."""
        self.reached = True
        """The device has come to all events."""

    def touch(self) -> torch.device:
        self.touched.append(self.current)
        return self.current

    def current_stream(self) -> str:
        return self.stream

    def is_initialized(self) -> bool:
        return True

    def is_current_stream_capturing(self) -> bool:
        return self.touch() in self.capturing

    def device(self, wanted: torch.device) -> "Current":
        return Current(self, wanted)

    def make_event(self, *, enable_timing: bool = False) -> "Event":
        del enable_timing
        return Event(self)


class Current:
    """`torch.cuda.device`."""

    def __init__(self, cuda: Cuda, wanted: torch.device) -> None:
        self._cuda, self._wanted = cuda, wanted
        self._before = cuda.current

    def __enter__(self) -> None:
        self._before, self._cuda.current = self._cuda.current, self._wanted

    def __exit__(self, *_: object) -> None:
        self._cuda.current = self._before


class Event:
    """Stays, as torch's do, on the device on which it was first recorded."""

    def __init__(self, cuda: Cuda) -> None:
        self._cuda = cuda
        self.device: torch.device | None = None
        self.stream = ""

    def record(self, stream: str = "default") -> None:
        self.stream = stream
        here = self._cuda.touch()
        assert self.device in (None, here), "torch refuses this"
        self.device = here

    def query(self) -> bool:
        assert self._cuda.touch() == self.device
        return self._cuda.reached

    def elapsed_time(self, end: "Event") -> float:
        assert (end.device, end.stream) == (self.device, self.stream)
        return 1.5


class OnDevice(torch.Tensor):
    """A loss that lies elsewhere, as far as it is asked."""

    place = SECOND

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        return self.place

    def detach(self) -> Any:  # noqa: ANN401
        return self


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> Cuda:
    made = Cuda()
    for name in ("is_initialized", "is_current_stream_capturing", "device", "current_stream"):
        monkeypatch.setattr(torch.cuda, name, getattr(made, name))
    monkeypatch.setattr(torch.cuda, "Event", made.make_event)
    return made


def followed(track: DeviceTrack, device: torch.device) -> list[tuple[int, list[tuple[int, float]]]]:
    """Follow one step, and return what is known after it."""
    track.begin(100, device)
    for code in (FETCH_BEGIN, BACKWARD_BEGIN, OPTIMIZER_END, FETCH_BEGIN):
        track.mark(code)
    track.end()
    track.resolve()
    track.resolve()
    return [track.ready.popleft() for _ in range(len(track.ready))]


def test_a_step_is_followed_on_its_own_device(cuda: Cuda) -> None:
    track = DeviceTrack()
    marks = [(FETCH_BEGIN, 1.5), (BACKWARD_BEGIN, 1.5), (OPTIMIZER_END, 1.5)]
    assert followed(track, SECOND) == [(100, marks)]
    assert set(cuda.touched) == {SECOND}
    cuda.touched.clear()
    assert followed(track, FIRST) == [(100, marks)], "events of another device are not used again"
    assert set(cuda.touched) == {FIRST}


def test_a_capture_on_the_device_that_trains_is_not_broken(cuda: Cuda) -> None:
    cuda.capturing = {SECOND}
    assert followed(DeviceTrack(), SECOND) == []
    cuda.capturing = {FIRST}
    assert len(followed(DeviceTrack(), SECOND)) == 1
    track = DeviceTrack()
    cuda.capturing, cuda.reached = set(), False
    assert followed(track, SECOND) == []
    cuda.capturing, cuda.reached = {SECOND}, True
    track.resolve()
    assert not track.ready
    cuda.capturing = set()
    track.resolve()
    assert len(track.ready) == 1


def test_the_device_is_that_of_the_first_parameter_with_its_number(cuda: Cuda) -> None:
    recorder = Recorder(Border(), LoaderBook({}), lambda: None)
    weight: Any = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([weight], 0.1)
    optimizer.param_groups[0]["params"] = [torch.ones(1).as_subclass(OnDevice)]
    recorder.note_optimizer(optimizer)
    assert recorder.device == SECOND
    sampling = PhaseSampling(StampRing(lambda _number, _at_ns, _cpu_ns: None), Border())
    sampling.at_step(5, 100, recorder.device, fetched=True)
    try:
        assert sampling.on
        assert set(cuda.touched) == {SECOND}
    finally:
        sampling.forget()


def test_the_device_is_that_of_the_first_backward_where_no_optimizer_says_better(cuda: Cuda) -> None:
    recorder = Recorder(Border(), LoaderBook({}), lambda: None)
    recorder.note_root([torch.ones(1).as_subclass(OnDevice)])
    assert recorder.device == SECOND
    kept_on_the_cpu: Any = torch.nn.Parameter(torch.zeros(1))
    recorder.note_optimizer(torch.optim.SGD([kept_on_the_cpu], 0.1))
    assert recorder.device == SECOND
    recorder.at_step(100, True)
    assert cuda.touched
    recorder.sampling.forget()


def test_nothing_is_followed_before_it_is_known_whether_there_is_an_optimizer(cuda: Cuda) -> None:
    """What is a step, a batch or several, is not known either."""
    recorder = Recorder(Border(), LoaderBook({}), lambda: None)
    recorder.note_root(torch.ones(1).as_subclass(OnDevice))
    recorder.batches = 10
    recorder.at_step(100, True)
    assert not cuda.touched
    recorder.batches = 100
    recorder.at_step(200, True)
    assert cuda.touched
    recorder.sampling.forget()


def test_the_loss_is_there_when_its_own_device_says_so(cuda: Cuda, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = torch.empty(1)

    def empty(*_shape: int, **_options: object) -> torch.Tensor:
        return plain

    monkeypatch.setattr(torch, "empty", empty)
    sampler = LossSampler()
    root = torch.tensor(3.0).as_subclass(OnDevice)
    cuda.reached = False
    assert sampler.sample(0, 7, root) == 0
    assert sampler.sample(1, 8, root) == 0
    assert not sampler.ready
    cuda.capturing = {SECOND}
    cuda.reached = True
    assert sampler.sample(2, 9, root) == 0
    cuda.capturing = {FIRST}
    assert sampler.sample(3, 10, root) == EVERY_BATCHES
    assert list(sampler.ready) == [(7, 3.0)]
    assert set(cuda.touched) == {SECOND}


def test_no_loss_is_copied_while_its_device_is_captured(cuda: Cuda) -> None:
    cuda.capturing = {SECOND}
    sampler = LossSampler()
    assert sampler.sample(0, 7, torch.tensor(3.0).as_subclass(OnDevice)) == EVERY_BATCHES
    assert (list(sampler.ready), set(cuda.touched)) == ([], {SECOND})


def steps_with_copies(
    cuda: Cuda, *, fetch_on: str, copy_on: str, train_on: str = "default"
) -> list[list[int]]:
    """Follow two steps whose parts are launched on these streams; return the codes of each."""
    track = DeviceTrack()
    for _ in range(2):
        track.begin(100, SECOND)
        for code, stream in (
            (FETCH_BEGIN, fetch_on),
            (FETCH_END, fetch_on),
            (H2D_BEGIN, copy_on),
            (H2D_END, copy_on),
            (BACKWARD_BEGIN, train_on),
            (OPTIMIZER_END, train_on),
            (FETCH_BEGIN, fetch_on),
        ):
            cuda.stream = stream
            track.mark(code)
        track.end()
    track.resolve()
    return [[code for code, _ in marks] for _, marks in track.ready]


PLAIN = [FETCH_BEGIN, FETCH_END, BACKWARD_BEGIN, OPTIMIZER_END]
COPIED = [FETCH_BEGIN, FETCH_END, H2D_BEGIN, H2D_END, BACKWARD_BEGIN, OPTIMIZER_END]


def test_copies_on_the_stream_that_trains_are_its_time(cuda: Cuda) -> None:
    assert steps_with_copies(cuda, fetch_on="default", copy_on="default") == [COPIED, COPIED]
    steps = steps_with_copies(cuda, fetch_on="side", copy_on="side", train_on="side")
    assert steps == [COPIED, COPIED]


def test_copies_on_a_prefetchers_stream_are_hidden(cuda: Cuda) -> None:
    """As timm and apex copy."""
    assert steps_with_copies(cuda, fetch_on="default", copy_on="side") == [PLAIN, PLAIN]


def test_a_prefetcher_may_fetch_on_its_stream_too(cuda: Cuda) -> None:
    """Only after the first backward it is known which stream trains."""
    track = DeviceTrack()
    track.begin(100, SECOND)
    track.mark(BACKWARD_BEGIN)
    track.begin(100, SECOND)
    for code, stream in ((FETCH_BEGIN, "side"), (FETCH_END, "side"), (H2D_BEGIN, "side"), (H2D_END, "side")):
        cuda.stream = stream
        track.mark(code)
    cuda.stream = "default"
    track.mark(BACKWARD_BEGIN)
    track.mark(FETCH_BEGIN)
    track.end()
    track.resolve()
    [(_, marks)] = track.ready
    assert [code for code, _ in marks] == [FETCH_BEGIN, FETCH_END, BACKWARD_BEGIN]
