"""`perftui trace FILE` in a terminal: analysed, shown, compared, and nothing left behind."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from perftui.tui.cli import main
from tests.profiling.trace_maker import TraceMaker
from tests.tui.pty_terminal import Terminal


def made(folder: Path, name: str, kernel_ns: int) -> Path:
    """Write a trace of three steps on a GPU."""
    maker = TraceMaker()
    for _ in range(3):
        maker.step()
        maker.compute(kernel_ns, "ampere_sgemm_128x64_nn")
        maker.idle(loader=400_000)
        maker.end_step()
    return maker.write(folder / name)


@pytest.fixture
def terminal(tmp_path: Path, runtime_dirs: object, monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    """A terminal with two traces compared in it."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    before, after = made(tmp_path, "slow.json", 900_000), made(tmp_path, "fast.json", 300_000)
    command = ("-m", "perftui.tui", "trace", str(after), "--before", str(before))
    started = Terminal(command=command)
    yield started
    started.close()
    assert list(scratch.iterdir()) == []


def test_two_traces_are_shown_and_compared(terminal: Terminal) -> None:
    terminal.wait_for("perftui trace")
    terminal.wait_for("idle")
    terminal.wait_for("fast.json")
    terminal.type(b"d")
    terminal.wait_for("since slow.json")
    terminal.wait_for("−600 µs")
    terminal.type(b"t")
    terminal.wait_for("GPU 0 stream 7")
    terminal.wait_for("ampere_sgemm")
    terminal.type(b"q")
    assert terminal.wait_for_exit() == 0
    assert b"Traceback" not in terminal.raw


def test_without_a_terminal_before_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = made(tmp_path, "a.json", 900_000)
    assert main(["trace", str(path), "--before", str(path), "--json"]) == 2
    assert "--before is for the screen" in capsys.readouterr().err
