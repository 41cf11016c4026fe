"""Processes as /proc shows them."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from perftui.trainer.telemetry.processes import (
    descendants,
    is_alive,
    is_tagged,
    process_stat,
    start_ticks,
    tagged_pids,
)

RUN_ID = "processes-test-0001"
CHILD = "import sys; print(1, flush=True); sys.stdin.read()"


@pytest.fixture
def child() -> "Iterator[subprocess.Popen[bytes]]":
    process = subprocess.Popen(
        [sys.executable, "-c", CHILD],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PERFTUI_RUN_ID": RUN_ID},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"1\n"
    yield process
    process.kill()
    process.communicate()


def test_a_child_is_found_by_tag_and_by_descent(child: "subprocess.Popen[bytes]") -> None:
    ticks = start_ticks(child.pid)
    assert ticks is not None
    assert tagged_pids(RUN_ID) == {child.pid: ticks}
    assert descendants(os.getpid())[child.pid] == ticks
    assert descendants(child.pid) == {}
    assert is_tagged(child.pid, RUN_ID)
    assert not is_tagged(child.pid, RUN_ID[:-1])
    assert not is_tagged(os.getpid(), RUN_ID)


def test_an_ended_child_is_no_longer_alive_even_before_it_is_collected(
    child: "subprocess.Popen[bytes]",
) -> None:
    ticks = start_ticks(child.pid)
    assert ticks is not None
    assert is_alive(child.pid, ticks)
    assert not is_alive(child.pid, ticks + 1)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    stat = process_stat(child.pid)
    assert stat is not None
    assert stat.ended
    assert start_ticks(child.pid) is None
    assert tagged_pids(RUN_ID) == {}


def test_names_with_brackets_and_blanks_do_not_confuse() -> None:
    code = (
        "import sys, ctypes; ctypes.CDLL(None).prctl(15, b'a) R 1 (b', 0, 0, 0)\n"
        "print(1, flush=True); sys.stdin.read()"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        process.stdout.readline()
        stat = process_stat(process.pid)
        assert stat is not None
        assert (stat.name, stat.parent) == ("a) R 1 (b", os.getpid())
    finally:
        process.kill()
        process.communicate()


def test_a_pid_that_nobody_has() -> None:
    assert process_stat(2**22 + 1) is None
    assert start_ticks(2**22 + 1) is None
