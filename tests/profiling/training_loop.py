"""A small real training whose profiling windows a test drives; prints each report as a line of JSON.

It trains on the GPU where there is one, so that the same tests look at device events there.

Usage: python -m tests.profiling.training_loop SCENARIO FOLDER
"""

# torch annotates its own functions in part only
# mypy: allow-untyped-calls
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

import multiprocessing
import resource
import sys
import threading
import time
from pathlib import Path
from typing import Any

import torch

from perftui.ipc.messages import Preset
from perftui.trainer.profiling import window
from perftui.trainer.profiling.script_profilers import SCRIPT_PROFILERS
from perftui.trainer.profiling.torch_session import profiler_enabled
from perftui.trainer.profiling.window import WindowRunner
from tests.profiling.window_training import FOLDER, Training, report, say, settle


def windows(training: Training) -> None:
    say({"state": "device", "device": training.device})
    training.run(2)
    training.arm("first", 4)
    training.arm("meanwhile", 6)
    training.run(8)
    settle("first")
    training.arm("late", training.step + 1)
    training.arm("second", training.step + 3, 2, warm=2)
    training.run(8)
    settle("second")
    training.arm("soon", -1, 2)
    training.run(5)
    settle("soon")
    assert not training.runner.active
    assert not training.runner.recording


def endings(training: Training) -> None:
    """Windows that end early or badly, in a training that goes on."""
    training.arm("dropped", training.step + 3)
    training.runner.cancel("dropped")
    training.run(2)
    training.arm("dropped_warm", training.step + 2)
    training.run(2)
    training.runner.cancel("dropped_warm")
    training.run(1)
    training.arm("dropped_late", training.step + 2, 5)
    training.run(4)
    background = threading.Thread(target=training.runner.cancel, args=("dropped_late",))
    background.start()
    background.join()
    training.run(1)
    training.folder.mkdir()
    (training.folder / "file").write_text("in the way")
    training.arm("unwritable", training.step + 2, folder=training.folder / "file" / "below")
    training.run(7)
    settle("unwritable")
    training.arm("passed", training.step + 2)
    training.step += 4
    training.run(1)
    training.arm("unkept", training.step + 2, keep=False)
    training.run(7)
    settle("unkept")
    training.arm("after", training.step + 2)
    training.run(7)
    settle("after")


def unhooked(training: Training) -> None:
    """The training comes by no hook for long, inside a window, in a loop of its own."""
    training.arm("unhooked", training.step + 2, 5)
    training.run(4)
    window.RECORDING_LIMIT_S = 0.2
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.05):
            training.runner.keep_watch()

    watcher = threading.Thread(target=watch)
    watcher.start()
    ended_inside = False
    deadline = time.monotonic() + 60
    while not ended_inside and time.monotonic() < deadline:
        torch.ones(8).sum()
        ended_inside = not training.runner.active
    over.set()
    watcher.join()
    say({"state": "unhooked", "ended_inside": ended_inside, "profiling": profiler_enabled()})
    window.RECORDING_LIMIT_S = 60.0
    training.arm("hooked", training.step + 2, 2)
    training.run(6)
    settle("hooked")


def many(training: Training) -> None:
    """Windows one after the other, and how much memory the process then holds."""
    for number in range(20):
        training.arm(f"many{number}", training.step + 2)
        training.run(6)
        settle(f"many{number}")
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        say({"state": "memory", "mib": pages * resource.getpagesize() / 2**20})


def limits(training: Training) -> None:
    """Windows that reach the time limit, set to nothing here."""
    window.RECORDING_LIMIT_S = 0.0
    training.arm("overlong", training.step + 2, 50)
    training.run(4)
    settle("overlong")
    training.arm("long_step", training.step + 2)
    training.run(3)
    training.runner.at_boundary(training.step - 1)
    training.run(2)


def validations(training: Training) -> None:
    """Validations at every place of a window, as the probe tells them."""
    training.arm("before", training.step + 2)
    training.runner.at_validation(training.step)
    training.run(7)
    settle("before")
    training.arm("within", training.step + 2, 5)
    training.run(4)
    for _ in range(3):
        training.runner.at_validation(training.step)
    training.run(2)
    settle("within")
    training.arm("whole", training.step + 2, 2)
    training.run(4)
    training.runner.at_validation(training.step)
    settle("whole")
    training.arm("at_once", training.step + 2)
    training.run(2)
    training.runner.at_boundary(training.step)
    training.runner.at_validation(training.step)
    training.run(2)


def full_buffers(training: Training) -> None:
    """Kineto stops by itself, as when its buffers on a device are full; there is none to fill here."""
    training.arm("full", training.step + 2, 5)
    training.run(4)
    autograd: Any = torch.autograd
    truth, autograd._is_kineto_stopped = autograd._is_kineto_stopped, lambda: True
    training.run(1)
    autograd._is_kineto_stopped = truth
    settle("full")


def presets(training: Training) -> None:
    presets: tuple[Preset, ...] = ("shapes", "memory", "stacks")
    for preset in presets:
        training.arm(preset, training.step + 2, preset=preset)
        training.run(7)
        settle(preset)


def script_profiler(training: Training) -> None:
    """The script's own captures: one that runs when a window is armed, one that opens inside a window."""
    capture = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])
    training.arm("before", 3)
    training.run(1)
    with capture:
        training.arm("during", 5)
        training.run(5)
    say({"state": "script", "events": _steps_seen(capture)})
    training.arm("overtaken", training.step + 2)
    training.run(3)
    inner = torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU],
        schedule=torch.profiler.schedule(wait=0, warmup=1, active=2, repeat=1),
    )
    with inner:
        training.run(3, lambda _step: inner.step())
    say({"state": "script", "events": _steps_seen(inner)})


def older_profilers(training: Training) -> None:
    """Contexts that raise in the script where a capture runs already."""
    training.arm("overtaken", training.step + 2)
    training.run(3)
    with torch.autograd.profiler.emit_itt():
        training.arm("during", training.step + 2)
        training.run(3)
    training.arm("afterwards", training.step + 2, 2)
    training.run(6)
    settle("afterwards")


def prepared_before(training: Training) -> None:
    """A capture of the script that is only prepared when the first window is armed."""
    training.runner.shutdown("a runner is made when the first window is asked for")
    SCRIPT_PROFILERS.watch()  # as the probe does at the import of torch
    schedule = torch.profiler.schedule(wait=0, warmup=4, active=2, repeat=1)
    capture = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], schedule=schedule)
    capture.start()
    training.run(2, lambda _step: capture.step())
    training.runner = WindowRunner(report)
    training.arm("early", training.step + 2)
    training.run(6, lambda _step: capture.step())
    capture.stop()
    say({"state": "script", "events": _steps_seen(capture)})
    training.arm("afterwards", training.step + 2, 2)
    training.run(6)
    settle("afterwards")


def _steps_seen(capture: torch.profiler.profile) -> int:
    return sum(event.key == "Optimizer.step#SGD.step" for event in capture.events() or [])


def raising(training: Training) -> None:
    def fail(step: int) -> None:
        if step == 5:
            raise ZeroDivisionError("the script's own mistake")

    training.arm("raised", 4)
    training.run(8, fail)


def ending(training: Training) -> None:
    training.arm("ended", 3)
    training.run(5)


def ending_warm(training: Training) -> None:
    training.arm("ended", 3)
    training.run(3)


def threaded(training: Training) -> None:
    """The training runs in a thread of its own, which ends inside the window."""
    training.arm("ended", 3)
    loop = threading.Thread(target=training.run, args=(5,))
    loop.start()
    loop.join()


def ending_beside(training: Training) -> None:
    """The process ends while the training still records in a thread that nobody waits for."""
    training.arm("ended", 3)
    recorded = threading.Event()

    def train() -> None:
        training.run(5)
        recorded.set()
        threading.Event().wait()

    threading.Thread(target=train, daemon=True).start()
    recorded.wait(60)


def _end_inside() -> None:
    ending(Training())


def ending_spawned(training: Training) -> None:
    """A child of multiprocessing, as torch's own spawn makes them, ends inside the window."""
    child = multiprocessing.get_context("spawn").Process(target=_end_inside)
    child.start()
    child.join(60)
    assert child.exitcode == 0


def told_from_beside(training: Training) -> None:
    """The probe's background thread shuts down while the training records on."""
    training.arm("told", training.step + 3)
    training.run(5)
    background = threading.Thread(target=training.runner.shutdown, args=("the probe gave up",))
    background.start()
    background.join()
    training.run(1)
    training.arm("told_after", training.step + 2)
    training.run(7)
    settle("told_after")


def lasting(training: Training) -> None:
    """One after the other in one training, each with a folder of its own."""
    for part in (windows, endings, validations, full_buffers, presets, told_from_beside, unhooked, limits):
        training.folder = FOLDER / part.__name__
        part(training)


SCENARIOS = {
    scenario.__name__: scenario
    for scenario in (
        lasting,
        script_profiler,
        older_profilers,
        prepared_before,
        many,
        raising,
        ending,
        ending_warm,
        ending_beside,
        ending_spawned,
        threaded,
    )
}

if __name__ == "__main__":
    SCENARIOS[sys.argv[1]](Training())
