"""The places that looks at a thread tell: lines, files, and what is let go of meanwhile."""

import linecache
import os
import sys
import threading
import time
import types
import weakref
from collections.abc import Callable
from pathlib import Path

import pytest

from perftui.ipc.facts import StackFacts
from perftui.trainer.probe.source_lines import is_installed
from perftui.trainer.probe.thread_looks import ThreadLooks
from tests.waiting import wait_until

pytestmark = pytest.mark.torch
pytest.importorskip("torch")  # looks are made where it has been imported


def _made(source: str, file: Path) -> Callable[..., object]:
    """Compile the function `work` as if it were from a file."""
    names: dict[str, object] = {}
    exec(compile(source, str(file), "exec"), names)
    work = names["work"]
    assert isinstance(work, types.FunctionType)
    return work


class _Waiting:
    """A thread in which something waits, and a look at it."""

    def __init__(self, work: Callable[..., object]) -> None:
        self.go_on = threading.Event()
        self.reached = threading.Event()
        self.thread = threading.Thread(target=work, args=(self.reached, self.go_on))

    def look(self, seen: ThreadLooks) -> StackFacts:
        self.thread.start()
        assert self.reached.wait(30)
        assert self.thread.ident is not None
        seen.look(self.thread.ident)
        self.go_on.set()
        self.thread.join()
        found = seen.facts()
        assert found is not None
        return found


WAIT = "def work(reached, go_on):\n    reached.set()\n    go_on.wait()\n"


def test_code_without_any_line_is_told_by_its_first(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text(WAIT)
    work = _made(WAIT, file)
    assert isinstance(work, types.FunctionType)
    size = len(work.__code__.co_code)
    table = b"".join(bytes((254 if at + 254 < size else size - at, 128)) for at in range(0, size, 254))
    if sys.version_info >= (3, 11):  # entries of at most eight instructions, of the kind without a line
        table = bytes([0xF8 | 7]) * (size // 16) + bytes([0xF8 | (size % 16 // 2 - 1)] if size % 16 else [])
    work.__code__ = work.__code__.replace(co_linetable=table)
    assert [line for _, _, line in work.__code__.co_lines() if line is not None] == []
    found = _Waiting(work).look(ThreadLooks())
    assert [(place.at, place.line) for place in found.places] == [
        (f"{file}:1 work", "def work(reached, go_on):")
    ]


def test_the_end_of_a_loops_body_counts_to_the_loop() -> None:
    """There the interpreter lets other threads in, and the jump back has no line of its own."""
    ended = threading.Event()

    def work() -> None:
        most = 0
        while not ended.is_set():
            for number in range(20_000):
                quick()
                if number % 5000 == 0:
                    most = max(most, number)

    def quick() -> list[int]:
        return [1] * 2000

    seen = ThreadLooks()
    thread = threading.Thread(target=work)
    thread.start()
    try:
        assert thread.ident is not None
        for _ in range(60):
            seen.look(thread.ident)
            time.sleep(0.001)
    finally:
        ended.set()
        thread.join()
    found = seen.facts()
    assert found is not None
    assert found.looks == 60
    assert all(place.line is not None for place in found.places)
    assert "for number in range(20_000):" in {place.line for place in found.places}


def test_frames_are_let_go_of_before_a_file_is_read(tmp_path: Path) -> None:
    """A file may be far away; what the training thread drops meanwhile must be freed, as GPU memory is."""
    file = tmp_path / "train.py"
    os.mkfifo(file)
    kept: list[weakref.ref[object]] = []

    class Large:
        pass

    source = WAIT.replace("\n", "\n    large = make()\n", 1)
    work = _made(source, file)
    assert isinstance(work, types.FunctionType)

    def make() -> Large:
        large = Large()
        kept.append(weakref.ref(large))
        return large

    work.__globals__["make"] = make
    waiting, seen = _Waiting(work), ThreadLooks()
    waiting.thread.start()
    assert waiting.reached.wait(30)
    looker = threading.Thread(target=seen.look, args=(waiting.thread.ident,))
    looker.start()
    writer = -1
    try:

        def read() -> bool:
            nonlocal writer
            try:
                writer = os.open(file, os.O_WRONLY | os.O_NONBLOCK)
            except OSError:  # nobody reads it yet
                return False
            return True

        wait_until(read, "the look reads the file")
        waiting.go_on.set()
        waiting.thread.join()
        assert looker.is_alive()
        assert [one() for one in kept] == [None]
    finally:
        waiting.go_on.set()
        if writer >= 0:
            os.write(writer, source.encode())
            os.close(writer)
        looker.join()
    found = seen.facts()
    assert found is not None
    assert [place.at for place in found.places] == [f"{file}:4 work"]


def test_linecache_is_left_as_it_is(tmp_path: Path) -> None:
    """Another thread that prints a traceback looks entries up there, and fails where one is taken away."""
    file = tmp_path / "train.py"
    file.write_text(WAIT)
    before = set(linecache.cache)
    found = _Waiting(_made(WAIT, file)).look(ThreadLooks())
    assert found.places[0].line == "go_on.wait()"
    assert set(linecache.cache) == before


def test_cells_of_a_notebook_have_lines() -> None:
    file = Path("/nowhere/ipykernel_1/123.py")
    lines: list[str] = [f"{line}\n" for line in WAIT.splitlines()]
    linecache.cache[str(file)] = (len(WAIT), None, lines, str(file))
    try:
        found = _Waiting(_made(WAIT, file)).look(ThreadLooks())
    finally:
        del linecache.cache[str(file)]
    assert found.places[0].line == "go_on.wait()"


@pytest.mark.parametrize(
    ("file", "at"),
    [
        ("/home/ann/wandb/train.py", "/home/ann/wandb/train.py:3 work"),
        ("/home/ann/tensorboard-demo/train.py", "/home/ann/tensorboard-demo/train.py:3 work"),
        ("/usr/lib/python3/dist-packages/tool.py", None),
        ("/cluster/modules/lib/python3.9/site-packages/tool.py", None),
    ],
)
def test_what_is_installed_is_not_the_scripts_own(file: str, at: str | None) -> None:
    assert is_installed(file) == (at is None)
    found = _Waiting(_made(WAIT, Path(file))).look(ThreadLooks())
    assert found.areas == {"script": 1}
    assert (found.places[0].at == at) == (at is not None)


def test_a_place_that_comes_late_is_found_however_many_there_were(tmp_path: Path) -> None:
    seen = ThreadLooks()
    for number in range(600):
        _Waiting(_made(WAIT, tmp_path / f"rare{number}.py")).look(seen)
    late = _made(WAIT, tmp_path / "late.py")
    for _ in range(20):
        _Waiting(late).look(seen)
    found = seen.facts()
    assert found is not None
    assert found.looks == 620
    assert found.places[0].at == f"{tmp_path}/late.py:3 work"
    assert found.places[0].count == 20
