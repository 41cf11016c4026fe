"""Which threads are found to save: inside a writer, and about it, but not waiting for something to save."""

import queue
import sys
import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from io import BytesIO
from types import FrameType

import pytest
import torch

from perftui.ipc.facts import StackFacts
from perftui.trainer.probe.border import Border
from perftui.trainer.probe.saves import Save, SaveWatch
from perftui.trainer.probe.saving_threads import SavingThreads
from perftui.trainer.probe.thread_looks import ThreadLooks

pytestmark = pytest.mark.torch


def _leave_no_stamp(_code: int, _at_ns: int, _cpu_ns: int, _value: int) -> None:
    pass


class _Run:
    """A training thread that is looked at, and what it saves by."""

    def __init__(self) -> None:
        self.saving, self.files = SavingThreads(), list[Save]()
        self.thread = 0
        watch = SaveWatch(Border(), _leave_no_stamp, lambda: self.thread, self.files.append, self.saving)
        self.save = watch.wrapped(torch.save, "f")
        self.pool = ThreadPoolExecutor(1)

    def looked(self, train: Callable[[], object], looks: int = 60) -> StackFacts:
        seen = ThreadLooks()
        seen.saving = self.saving
        with self._running(train) as self.thread:
            while (seen.facts() or StackFacts(looks=0, areas={})).looks < looks:
                seen.look(self.thread)
                time.sleep(0.002)
        found = seen.facts()
        assert found is not None
        return found

    @contextmanager
    def _running(self, train: Callable[[], object]) -> Generator[int, None, None]:
        ended = threading.Event()

        def loop() -> None:
            while not ended.is_set():
                train()

        thread = threading.Thread(target=loop)
        thread.start()
        yield thread.ident or 0
        ended.set()
        thread.join()


def test_waiting_for_a_thread_that_saves_and_syncs() -> None:
    """The writer takes microseconds; what comes after it in the same function takes the time."""
    run = _Run()

    def write() -> None:
        run.save({"a": 1}, BytesIO())
        time.sleep(0.02)

    found = run.looked(lambda: run.pool.submit(write).result())
    assert found.saving > 0.6 * found.areas["script"] > 0
    assert {save.here for save in run.files} == {False}


def test_waiting_for_another_thread_that_does_something_else() -> None:
    run = _Run()
    run.pool.submit(run.save, {"a": 1}, BytesIO()).result()
    assert run.saving.any
    found = run.looked(lambda: run.pool.submit(time.sleep, 0.02).result())
    assert found.areas["script"] > 0
    assert found.saving == 0


def test_a_thread_that_waits_for_something_to_save_does_not_save() -> None:
    run, wanted = _Run(), queue.SimpleQueue[object]()

    def serve() -> None:
        while (thing := wanted.get()) is not None:
            run.save(thing, BytesIO())

    server = threading.Thread(target=serve)
    server.start()
    wanted.put(1)
    while not run.files:
        time.sleep(0.001)
    other = ThreadPoolExecutor(1)
    found = run.looked(lambda: other.submit(time.sleep, 0.02).result())
    wanted.put(None)
    server.join()
    assert found.saving == 0


def test_working_beside_a_thread_that_saves_is_no_wait() -> None:
    run, ended = _Run(), threading.Event()

    def write() -> None:
        while not ended.is_set():
            run.save({"a": torch.ones(1000)}, BytesIO())

    writer = threading.Thread(target=write)
    writer.start()
    found = run.looked(lambda: sum(number * number for number in range(20_000)))
    ended.set()
    writer.join()
    assert found.areas["script"] > 0
    assert found.saving == 0


def test_a_write_that_raises_ends() -> None:
    run = _Run()
    with pytest.raises(RuntimeError):
        run.pool.submit(run.save, 1, "/nowhere/at/all.pt").result()
    assert not run.saving.found({5: _frame()}, but=0)


def _frame() -> FrameType:
    return sys._getframe()  # pyright: ignore[reportPrivateUsage]
