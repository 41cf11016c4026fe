"""Pictures of every screen, from real runs: the starved demo, one GPU or several where there are any.

    python -m benchmarks.captures FOLDER [--ranks 2] [--only many,starved]

A dashboard of 120 columns and 40 lines runs in a pseudo-terminal, is driven by its keys, and writes each
picture itself (ctrl+s).
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.cases.start import end_left
from tests.tui.pty_terminal import Terminal

PERFTUI = (sys.executable, "-m", "perftui.tui")
DEMOS = Path(__file__).parents[1] / "demos"
TERMINAL = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LC_ALL": "C.UTF-8"}
_SAVE, _SAID = b"\x13", "this screen is in"
_SETTLED_S = 1.5


class Shot(NamedTuple):
    """One picture."""

    name: str
    keys: bytes
    """Typed before it."""
    words: str
    """That stand on the screen then."""
    patience_s: float = 30.0
    settled_s: float = _SETTLED_S


OF_ONE_RANK = [
    Shot("overview", b"", "input.workers", 90, 20),
    Shot("findings", b"f", "input.workers"),
    Shot("settings", b"\x1bi", "settings in force"),
    Shot("output", b"\x1bo", "epoch"),
    Shot("profile", b"\x1bp", "operators]", 60, 3),
    Shot("timeline", b"t", "[timeline]"),
    Shot("relaunch", b"\x1br", "relaunch"),
    Shot("verdict", b"\r", "times as fast", 420, 4),
    Shot("ledger", b"\x1be", "loader.num_workers"),
    Shot("help", b"\x1b?", "help"),
]
OF_RANKS = [
    Shot("ranks", b"", "rank 1", 90, 25),
    Shot("ranks-over-time", b"m", "rank"),
    Shot("rank", b"\x1b\r", "rank 0"),
    Shot("ranks-profile", b"\x1bp", "operators]", 90, 3),
    Shot("hosts", b"\x1bH", "hosts"),
]
OF_MANY = [Shot("many-ranks", b"", "256 ranks", 60, 20)]


@contextmanager
def run_of(command: Sequence[str], folder: Path) -> Generator[None, None, None]:
    """Have a run in the background for the length of a block."""
    for name in ("starved.py", "starved_ddp.py", "images.py"):
        shutil.copy(DEMOS / name, folder)
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        yield
    finally:
        os.killpg(process.pid, signal.SIGTERM)  # of a session of its own: a simulation has more than one
        process.wait(60)
        end_left(folder)


def play(shots: Sequence[Shot], into: Path) -> None:
    """Drive one dashboard through all shots."""
    terminal = Terminal(120, 40, PERFTUI[1:], environment=TERMINAL, answers=True)
    try:
        for shot in shots:
            for key in (shot.keys[:1], shot.keys[1:]):
                if key:
                    terminal.type(key)
                    terminal.read_for(0.7)
            _wait(terminal, shot)
            terminal.read_for(shot.settled_s)
            terminal.wait_until(lambda: _SAID not in terminal.text, "the word on the picture before gone")
            _save(terminal, into / f"{shot.name}.svg")
            sys.stderr.write(f"{shot.name}\n")
    finally:
        terminal.close()


def _wait(terminal: Terminal, shot: Shot) -> None:
    deadline = time.monotonic() + shot.patience_s
    while shot.words not in terminal.text:
        if time.monotonic() > deadline or terminal.process.poll() is not None:
            raise SystemExit(f"{shot.name}: never {shot.words!r}:\n{terminal.text}")
        terminal.read(0.2)


def _save(terminal: Terminal, path: Path) -> None:
    before = set(Path.cwd().glob("*.svg"))
    terminal.type(_SAVE)
    deadline = time.monotonic() + 10
    while not (written := set(Path.cwd().glob("*.svg")) - before):
        if time.monotonic() > deadline:
            raise SystemExit(f"{path.name}: nothing was written:\n{terminal.text}")
        terminal.read(0.2)
    terminal.read_for(0.3)
    shutil.move(written.pop(), path)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--ranks", type=int, default=2, help="of the run with several")
    parser.add_argument("--only", default="starved,ranks,many")
    asked = parser.parse_args()
    into = asked.folder.resolve()
    into.mkdir(parents=True, exist_ok=True)
    run = (*PERFTUI, "run", "--no-tui", "--name")
    torchrun = ("torchrun", "--standalone", f"--nproc-per-node={asked.ranks}", "starved_ddp.py")
    simulator = (sys.executable, "-m", "benchmarks.simulator", "--ranks", "256", "--scenario", "straggler")
    plans = {
        "starved": ((*run, "starved", "--", "python", "starved.py", "--epochs", "1000"), OF_ONE_RANK),
        "ranks": ((*run, "ranks", "--", *torchrun, "--epochs", "1000"), OF_RANKS),
        "many": (simulator, OF_MANY),
    }
    os.environ["PYTHONPATH"] = str(Path(__file__).parents[1])
    for name in asked.only.split(","):
        command, shots = plans[name]
        with tempfile.TemporaryDirectory(prefix="pc-") as place:
            folder = Path(place)
            os.environ.update(XDG_STATE_HOME=f"{place}/state", PERFTUI_RUNTIME_DIR=f"{place}/r", HOME=place)
            os.chdir(folder)
            with run_of(command, folder):
                time.sleep(3)
                play(shots, into)
            os.chdir(into)


if __name__ == "__main__":
    main()
