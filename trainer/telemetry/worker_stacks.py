"""Samples the stacks of loader workers for the seconds of a profiling window; driven by the hub's loop.

At most twenty looks a second over all workers, so that sampling takes a fraction of one core.
"""

import time
from collections.abc import Sequence

from perftui.ipc.worker_stacks import WorkerStacks
from perftui.trainer.telemetry.processes import is_alive
from perftui.trainer.telemetry.py_spy import MISSING, Look, find_py_spy, why_refused
from perftui.trainer.telemetry.stack_fold import Stack, Worker, folded

LEAST_S = 2.0
"""A window may be over in milliseconds: workers are looked at for at least so long."""
MOST_S = 60.0
WORKERS_MAX = 16
_LOOKS_AT_ONCE = 2
_LOOK_EVERY_S = 0.05


class StackSampler:
    """One span of sampling: `tick` it until it is over, then take the result."""

    def __init__(self) -> None:
        self._program = find_py_spy()
        self._began_s = time.monotonic()
        self._stopped = False
        self._looks: list[tuple[Worker, Look]] = []
        self._stacks: dict[Worker, list[Stack]] = {}
        self._left_out = 0
        self._next_s = 0.0
        self._turn = 0
        self._why: str | None = None

    def tick(self, workers: Sequence[Worker], *, wanted: bool) -> bool:
        """Look at the next workers and collect what was seen; False once sampling is over.

        Args:
            workers: those that live, as far as is known.
            wanted: the window still records.
        """
        if self._program is None:
            self._left_out = len(workers)
            self._why = MISSING if workers else None
            return False
        age_s = time.monotonic() - self._began_s
        self._stopped |= age_s > MOST_S or (not wanted and age_s > LEAST_S)
        self._collect()
        if not self._stopped:
            self._look_on(workers)
        if not workers and not wanted and not self._stacks:
            self._stopped = True
        return bool(self._looks) or not self._stopped

    def _look_on(self, workers: Sequence[Worker]) -> None:
        chosen = workers[:WORKERS_MAX]
        self._left_out = max(self._left_out, len(workers) - len(chosen))
        now = time.monotonic()
        while chosen and len(self._looks) < _LOOKS_AT_ONCE and now >= self._next_s:
            self._next_s = max(now - _LOOK_EVERY_S, self._next_s) + _LOOK_EVERY_S
            worker = chosen[self._turn % len(chosen)]
            self._turn += 1
            self._stacks.setdefault(worker, [])
            if not is_alive(worker.pid, worker.start_ticks):
                continue
            try:
                self._looks.append((worker, Look(self._program or "", worker.pid)))
            except OSError as error:
                self._why = f"py-spy cannot be started: {error.strerror}"
                self._stopped = True
                return

    def _collect(self) -> None:
        going_on: list[tuple[Worker, Look]] = []
        for worker, look in self._looks:
            if not look.over:
                going_on.append((worker, look))
                continue
            stack, errors = look.take()
            if stack is not None:
                self._stacks[worker].append(stack)
                continue
            refused = why_refused(errors, self._program or "")
            if refused:
                self._why, self._stopped = refused, True
            elif errors and is_alive(worker.pid, worker.start_ticks):
                self._why = f"py-spy: {errors.strip().splitlines()[0]}"
        self._looks = going_on

    def result(self) -> tuple[list[WorkerStacks], list[str]]:
        """Return the workers' stacks, and notes on what is missing."""
        found = [folded(worker, stacks) for worker, stacks in self._stacks.items() if stacks]
        found.sort(key=lambda each: (each.rank, -1 if each.number is None else each.number, each.pid))
        notes: list[str] = []
        if self._why and not found:
            notes.append(self._why)
        elif self._stacks and not found:
            notes.append("no loader worker could be looked at: they ended before")
        if found and self._left_out:
            notes.append(
                f"stacks of {WORKERS_MAX} of {WORKERS_MAX + self._left_out} loader workers were sampled"
            )
        return found, notes

    def close(self) -> None:
        """End what goes on."""
        for _, look in self._looks:
            look.take()
        self._looks.clear()
