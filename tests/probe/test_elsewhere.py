"""Optimizers that step in autograd's threads, or into a CUDA graph; stand-ins for both."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
import torch

from perftui.trainer.probe import elsewhere as module
from perftui.trainer.probe.border import Border
from perftui.trainer.probe.elsewhere import NOBODY, Elsewhere
from perftui.trainer.probe.graph_replays import patch_graphs
from perftui.trainer.probe.loader_settings import LoaderBook
from perftui.trainer.probe.recorder import Recorder
from perftui.trainer.probe.stamps import OPTIMIZER_BEGIN, OPTIMIZER_END, REPLAYED, UNKNOWN_CPU

pytestmark = pytest.mark.torch

ADAM, SGD = 100, 200


def in_a_thread(act: Callable[[], object]) -> None:
    thread = threading.Thread(target=act)
    thread.start()
    thread.join()


@pytest.fixture
def backward(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each thread is in a backward."""
    monkeypatch.setattr(module, "_task_of_thread", lambda: 3)


def step(elsewhere: Elsewhere, key: int) -> None:
    assert elsewhere.begins(key)
    elsewhere.ends(key)


@pytest.mark.usefixtures("backward")
def test_steps_since_the_backward_began_are_taken_once() -> None:
    elsewhere = Elsewhere()
    in_a_thread(lambda: step(elsewhere, ADAM))
    begin_ns = elsewhere.stamps[-3] + 1
    in_a_thread(lambda: step(elsewhere, SGD))
    taken, keys = elsewhere.take(begin_ns, 77)
    assert keys == [SGD]
    assert (taken[0], taken[2:4], taken[4], taken[6:]) == (
        OPTIMIZER_BEGIN,
        [UNKNOWN_CPU, SGD],
        OPTIMIZER_END,
        [77, SGD],
    )
    assert taken[1] <= taken[5]
    assert elsewhere.take(0, 0) == ([], [])


@pytest.mark.usefixtures("backward")
def test_their_times_are_not_before_what_was_left_late() -> None:
    elsewhere = Elsewhere()
    step(elsewhere, ADAM)
    taken, _ = elsewhere.take(0, 0, not_before_ns=1 << 60)
    assert (taken[1], taken[5]) == (1 << 60, 1 << 60)


def test_outside_of_a_backward_another_thread_trains_for_itself() -> None:
    elsewhere = Elsewhere()
    assert not elsewhere.begins(ADAM)
    elsewhere.ends(ADAM)
    assert not elsewhere.stamps


def test_a_thread_that_calls_for_backwards_is_none_of_autograds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two trainers in two threads, each with optimizers that step inside its backward."""
    elsewhere = Elsewhere()

    def train() -> None:
        elsewhere.goes_backward()
        monkeypatch.setattr(module, "_task_of_thread", lambda: 3)
        assert not elsewhere.begins(ADAM)
        elsewhere.ends(ADAM)

    in_a_thread(train)
    assert not elsewhere.stamps


class Graph:
    """Stands in for torch's."""

    def __init__(self) -> None:
        self.played = 0

    def capture_begin(self, pool: object = None) -> None:
        assert pool is None

    def capture_end(self) -> None:
        pass

    def replay(self) -> None:
        self.played += 1


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    kind = type("Own", (Graph,), dict(vars(Graph)))
    monkeypatch.setattr(torch.cuda, "CUDAGraph", kind)
    made = Recorder(Border(), LoaderBook({}), lambda: None)
    patch_graphs(made)
    made.claim_work()
    made.live = False
    made.ring.attend_from(1 << 40)
    made.ring.take()
    return made


def graph() -> Any:  # noqa: ANN401
    return torch.cuda.CUDAGraph()


def capture(recorder: Recorder, one: Graph, key: int | None) -> None:
    trainer = recorder.trainer
    one.capture_begin()
    assert recorder.trainer == NOBODY
    assert not recorder.claim_work()
    if key is not None:
        assert recorder.elsewhere.begins(key)
        recorder.elsewhere.ends(key)
    one.capture_end()
    assert recorder.trainer == trainer


def test_replays_of_a_graph_with_an_optimizer_in_it_are_stamped(recorder: Recorder) -> None:
    whole, part = graph(), graph()
    capture(recorder, whole, ADAM)
    capture(recorder, part, None)
    assert recorder.ring.take() == []
    for _ in range(3):
        part.replay()
        whole.replay()
    assert [(code, value) for code, _, _, value in recorder.ring.take()] == [(REPLAYED, ADAM)] * 3
    assert (whole.played, part.played, recorder.border.errors) == (3, 3, 0)


def test_a_capture_in_another_thread_hides_nothing(recorder: Recorder) -> None:
    trainer, one = recorder.trainer, graph()

    def there() -> None:
        one.capture_begin()
        assert recorder.trainer == trainer
        one.capture_end()

    in_a_thread(there)
    one.replay()
    assert recorder.trainer == trainer
    assert recorder.ring.take() == []


def test_a_capture_that_cannot_begin_hides_nothing(recorder: Recorder) -> None:
    trainer, one = recorder.trainer, graph()
    with pytest.raises(AssertionError):
        one.capture_begin(pool=5)
    assert (recorder.trainer, recorder.elsewhere.capturing) == (trainer, 0)
