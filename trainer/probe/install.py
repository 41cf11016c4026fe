"""What one process holds of the probe, and how it starts and ends.

Hooks at torch's import, the agent at the first training event, goodbye at exit; a forked child starts from
nothing and stays inert until it trains itself.
"""

import atexit
import multiprocessing
import multiprocessing.util
import os
import sys
from contextlib import suppress
from pathlib import Path

import torch.utils.data

from perftui.ipc.run_variables import ARM, OFF, RUN_ID, RUN_STATE
from perftui.trainer.probe import effective, live_objects
from perftui.trainer.probe.agent_thread import AgentThread
from perftui.trainer.probe.applied import Applied, read_applied
from perftui.trainer.probe.border import Border
from perftui.trainer.probe.hooks import install_hooks
from perftui.trainer.probe.loader_settings import LoaderBook
from perftui.trainer.probe.named_run import named_run
from perftui.trainer.probe.recorder import Recorder
from perftui.trainer.probe.sharding_counts import sharding_counts
from perftui.trainer.profiling.script_profilers import SCRIPT_PROFILERS

_FINALIZER_PRIORITY = 100


class Probe:
    """The probe of this process."""

    def __init__(self, applied: Applied) -> None:
        self.applied = applied
        self._named = named_run(os.environ)
        self.border = Border()
        self.recorder = Recorder(self.border, LoaderBook(applied.settings), self._start_agent)
        self._agent: AgentThread | None = None
        self._inherited: list[object] = []
        """What a forked child has of its parent and must never let go of: freeing the parent's sockets,
        pinned memory or profiler in a child aborts it."""
        self._stop_agent = self.border.guard("exit", _nothing)
        os.register_at_fork(after_in_child=self._after_fork)

    def _start_agent(self) -> None:
        if torch.utils.data.get_worker_info() is not None:
            return
        agent = self._agent = AgentThread(self.recorder, self.applied, self._named)
        self._stop_agent = self.border.guard("exit", agent.stop)
        if multiprocessing.parent_process() is not None:  # such children leave without atexit
            multiprocessing.util.Finalize(None, self._leave, exitpriority=_FINALIZER_PRIORITY)
        else:
            atexit.register(self._leave)
        agent.start()

    def _leave(self) -> None:
        if self._agent is None:
            return
        self._agent = None
        self.border.guard("finish", self.recorder.finish)()
        error = getattr(sys, "last_type", None)  # set by the interpreter when it prints a traceback
        self._stop_agent("exit" if error is None else f"exception {error.__name__}")

    def _after_fork(self) -> None:
        self._inherited.append((self._agent, self.recorder.loss, self.recorder.window))
        self._agent = None
        self.recorder.reset()


def _nothing() -> None:
    """Stand in for an agent that was never started."""


def _leave_mark(state: str | None) -> None:
    """Make the file by which the launcher knows that the probe got in, though nothing may train here."""
    if state:
        with suppress(OSError):
            Path(state, "probed").touch(0o600)


def _alter(probe: Probe) -> None:
    """Bring in what alters more than loaders; imported only where it is asked for."""
    if all(name.startswith(("loader", "env.")) for name in probe.applied.settings):
        return
    from perftui.trainer.probe.altering.alterations import Alterations
    from perftui.trainer.probe.altering.book import AlterationBook
    from perftui.trainer.probe.altering.in_force import reader_of

    book = AlterationBook(probe.applied.settings, probe.applied.words)
    effective.readers.append(reader_of(Alterations(book, probe.border, probe.recorder.step_left_out)))


_installed: list[Probe] = []


def install(*, explicit: bool = False) -> Probe | None:
    """Arm this process; what is armed already stays as it is.

    Args:
        explicit: the script itself asks for it, so that no run need be named by the environment.

    Returns:
        The probe; None when PERFTUI_OFF=1, or when nothing asks for one.
    """
    if _installed:
        return _installed[0]
    environment = os.environ
    if environment.get(OFF) == "1":
        return None
    if not explicit and not environment.get(RUN_ID) and not environment.get(ARM):
        return None
    applied = read_applied(environment.get(RUN_STATE))
    probe = Probe(applied)
    _installed.append(probe)
    install_hooks(probe.recorder)
    live_objects.install(probe.border)
    sharding_counts.install(probe.border)
    SCRIPT_PROFILERS.watch()
    if not applied.trial:  # whose files are under protection
        _leave_mark(environment.get(RUN_STATE))
    probe.border.guard("settings", _alter)(probe)
    if applied.trial:
        from perftui.trainer.probe import trial  # here: it brings all that stands before the user's files

        trial.after_torch(applied)
    return probe
