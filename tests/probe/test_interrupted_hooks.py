"""Signal handlers of the script's that come in the middle of a hook, and do what is hooked themselves."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.torch

SCRIPT = """
import signal
from time import perf_counter_ns
from perftui.trainer.probe.border import Border
from perftui.trainer.probe.loader_settings import LoaderBook
from perftui.trainer.probe.recorder import Recorder
from perftui.trainer.probe.stamps import EXPLICIT_STEP, SAVE_BEGIN

recorder = Recorder(Border(), LoaderBook({}), lambda: None)
recorder.expect_steps()
recorder.window_expected = True
recorder.go_live()  # from here on each stamp is read at once, in this thread
handled = 0

def save(_signal, _frame):
    global handled
    handled += 1
    recorder.ring.put(SAVE_BEGIN, perf_counter_ns(), -1, 0)
    recorder.explicit_step(None)

signal.signal(signal.SIGALRM, save)
signal.setitimer(signal.ITIMER_REAL, 1e-3, 1e-3)
steps = 0
while handled < 400:
    recorder.explicit_step(None)
    steps += 1
signal.setitimer(signal.ITIMER_REAL, 0)
recorder.explicit_step(None)
print(recorder.border.errors, recorder.clock.steps - steps - handled - 1)
"""


def test_a_checkpoint_in_a_signal_handler_neither_hangs_nor_loses_a_step() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.stdout, done.stderr) == ("0 0\n", "")
