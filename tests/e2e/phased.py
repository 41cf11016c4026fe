"""A training that waits at each phase until a test lets it go on; without us it waits nowhere."""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from perftui.trainer.telemetry.processes import tagged_pids
from tests.waiting import wait_until

from .conftest import PERFTUI, Desk
from .odd_scripts import BEGIN
from .unharmed import Ended, Meanwhile, assert_unharmed, ended

PHASES = ("starting", "training", "later", "ending")
CODE = 7
_SCRIPT = (
    BEGIN
    + """
from pathlib import Path
here = Path(sys.argv[0]).parent

def phase(name):
    if "PERFTUI_RUN_ID" not in os.environ:
        return
    (here / ("at-" + name)).touch()
    deadline = time.monotonic() + 90
    while not (here / ("go-" + name)).exists() and time.monotonic() < deadline:
        time.sleep(0.01)

def each(number):
    time.sleep(0.01)
    if number in (40, 140):
        phase("training" if number == 40 else "later")

phase("starting")
train(200, each)
phase("ending")
sys.exit(7)
"""
)
STEPS = 200


class Phased:
    """One such training under perftui, seen from a test.

    Args:
        desk: where it is started.
    """

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.run_id = ""
        self._script = desk.script(_SCRIPT)

    def unharmed(self, at: Callable[[str], object], *options: str) -> None:
        """Run it to its end, calling `at` at each phase; losses and code are those of a plain run."""
        ours = assert_unharmed(self.desk, self._script, options=options, meanwhile=self._through_phases(at))
        assert ours.code == CODE

    def both(self, at: Callable[[str], object]) -> tuple[Ended, Ended]:
        """Return how it ended without us and with us, whatever is to be said of that."""
        command = [sys.executable, str(self._script)]
        plain = ended(command, self.desk.folder)
        run = [*PERFTUI, "run", "--no-tui", "--", *command]
        return plain, ended(run, self.desk.folder, self._through_phases(at))

    def _through_phases(self, at: Callable[[str], object]) -> Meanwhile:
        def meanwhile(_process: object) -> None:
            for name in PHASES:
                wait_until((self.desk.folder / f"at-{name}").exists, f"it is {name}")
                self.run_id = self.run_id or self.desk.live_run()
                at(name)
                (self.desk.folder / f"go-{name}").touch()

        return meanwhile

    def rank_pid(self) -> int:
        """Return the training's own process."""
        (pid,) = [
            pid
            for pid in tagged_pids(self.run_id)
            if str(self._script).encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
        ]
        return pid

    def keeper_pid(self) -> int:
        """Return the training's parent."""
        status = Path(f"/proc/{self.rank_pid()}/status").read_text()
        return int(status.partition("PPid:")[2].split()[0])


class Suspended:
    """A process that is stopped at one phase and woken at the next, so that it sleeps through all between."""

    def __init__(self, pid_of: Callable[[], int]) -> None:
        self._pid_of = pid_of
        self._asleep: int | None = None

    def turn(self) -> None:
        """Wake what sleeps, and put to sleep what is there now."""
        self.wake()
        self._asleep = self._pid_of()
        os.kill(self._asleep, signal.SIGSTOP)

    def wake(self) -> None:
        """Let it go on."""
        if self._asleep is not None:
            os.kill(self._asleep, signal.SIGCONT)
            self._asleep = None
