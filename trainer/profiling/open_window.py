"""The record of one profiling window on its way through a rank: what was asked, how far it is, its cost."""

import os
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import msgspec

from perftui.ipc.messages import ArmWindow, WindowState
from perftui.trainer.profiling.torch_session import ProfilerSession, StepMark, process_rank


@dataclass
class OpenWindow:
    """One window; changed only under the runner's lock, or by the worker once it has been handed over."""

    command: ArmWindow
    phase: Literal["armed", "warming", "recording"] = "armed"
    end_because: str | None = None
    """Asked for by another thread: the training thread, whose profiler it is, ends the window."""
    end_state: WindowState = "aborted"
    """And what it is then called."""
    shortened: str | None = None
    """Why fewer steps than asked for are recorded, where the rank itself saw to that."""
    thread: int | None = None
    """The training thread, once the profiler is prepared."""
    session: ProfilerSession | None = None
    mark: StepMark | None = None
    marked_step: int = -1
    first_step: int = -1
    """Where recording really began."""
    prepared_s: float = 0.0
    started_s: float = 0.0
    """Both on the monotonic clock; 0 before."""
    cost_ms: dict[str, float] = field(default_factory=dict)

    @property
    def placed(self) -> bool:
        """Whether the steps to record are known: a window may be asked for as soon as possible."""
        return self.command.start_step >= 0

    def place(self, step: int) -> None:
        """Begin to warm up at the step `step`."""
        self.command = msgspec.structs.replace(self.command, start_step=step + self.command.warm_steps)

    @property
    def prepare_from(self) -> int:
        """The step before which the profiler is prepared."""
        return self.command.start_step - self.command.warm_steps

    @property
    def prepare_until(self) -> int:
        """The last step before which preparing still leaves a warm step, if one was asked for."""
        return self.command.start_step - min(1, self.command.warm_steps)

    @property
    def belongs_elsewhere(self) -> bool:
        """Whether the profiler is on in another thread, and that thread still lives."""
        if self.thread in (None, threading.get_ident()):
            return False
        return any(thread.ident == self.thread for thread in threading.enumerate())

    def begin(self, step: int) -> None:
        """Note that recording begins with `step`, and mark it."""
        self.phase = "recording"
        self.first_step = step
        self.started_s = time.monotonic()
        self.open_mark(step)

    def open_mark(self, step: int) -> None:
        """Wrap what follows in a span named after the step."""
        self.mark = StepMark(step)
        self.marked_step = step

    def close_mark(self) -> None:
        """End the span, if one is open."""
        mark, self.mark = self.mark, None
        if mark is not None:
            mark.close()

    def add_cost(self, part: str, began_s: float, *, stalls: bool = True) -> None:
        """Note how long a part took since `began_s` (perf_counter); `stalls`: the training waited for it."""
        took_ms = (time.perf_counter() - began_s) * 1000.0
        self.cost_ms[part] = took_ms
        if stalls:
            self.cost_ms["stall"] = self.cost_ms.get("stall", 0.0) + took_ms

    def trace_stem(self, steps: int) -> Path | None:
        """Return where the files of the recorded steps go, without their ends; None: they are not kept."""
        name = f"rank{_rank()}_step{self.first_step}_n{steps}_{self.command.window_id}"
        return Path(self.command.directory) / name if self.command.keep else None


def _rank() -> int:
    known = process_rank()
    if known is not None:
        return known
    text = os.environ.get("RANK", "")
    return int(text) if text.isdigit() else 0
