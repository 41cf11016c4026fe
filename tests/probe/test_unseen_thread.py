"""Threads of ours are not met by a script that looks at all threads of its process."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from perftui.trainer.probe.unseen_thread import UnseenThread, stay_unseen

WAITS_FOR_ALL = """
import os, sys, threading
import torch
from perftui.trainer.probe.install import install

probe = install()
met = []
threading.settrace(lambda *_: met.append(threading.get_ident()))
model = torch.nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(20):
    model(torch.ones(1, 1)).sum().backward()
    optimizer.step()
assert probe._agent is not None
for each in threading.enumerate():
    if each is not threading.main_thread():
        each.join()
print(threading.active_count(), len(met))
"""


def test_threading_does_not_know_it_and_it_can_be_waited_for() -> None:
    before = threading.enumerate()
    goes_on, may_end, told = threading.Event(), threading.Event(), list[str]()

    def act() -> None:
        told.append(threading.current_thread().name)  # as logging asks; it makes an entry
        stay_unseen()
        goes_on.set()
        may_end.wait()
        told.append(threading.current_thread().name)

    thread = UnseenThread(act)
    thread.start()
    assert goes_on.wait(10)
    assert threading.enumerate() == before
    thread.join(0.01)
    assert len(told) == 1
    may_end.set()
    thread.join(10)
    assert len(told) == 2
    assert threading.enumerate() == before


def test_it_does_not_wait_for_itself() -> None:
    ended = threading.Event()

    def act() -> None:
        thread.join(60)
        ended.set()

    thread = UnseenThread(act)
    thread.start()
    assert ended.wait(10)


@pytest.mark.torch
def test_a_script_that_waits_for_all_threads_comes_to_its_end(tmp_path: Path) -> None:
    named = ("PERFTUI_RUN_ID", "test-run"), ("PERFTUI_RUN_STATE", tmp_path), ("PERFTUI_RUN_RUNTIME", tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", WAITS_FOR_ALL],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {name: str(value) for name, value in named},
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (0, "1 0\n"), done.stderr
