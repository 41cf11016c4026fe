"""Processes that outlive their parent, gathered: they are on a tool's bill, and must be gone after it."""

import contextlib
import ctypes
import os
import select
import signal
import time
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36
_POLL_S = 0.02
_GRACE_S = 5.0


def adopt_orphans() -> None:
    """Become the parent of whatever our children leave behind (Linux).

    Raises:
        OSError: the kernel refused.
    """
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "cannot become a subreaper")


def wait_for_end(pid: int, timeout_s: float) -> bool:
    """Return True as soon as a child has ended, False after the time-out. It is not reaped."""
    descriptor = os.pidfd_open(pid)
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        return bool(poll.poll(timeout_s * 1000))
    finally:
        os.close(descriptor)


def reap(pid: int) -> tuple[int, float]:
    """Return exit code (negative: signal) and CPU seconds of a child of ours and of those it waited for."""
    _, status, usage = os.wait4(pid, 0)
    return os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime


def reap_orphans(timeout_s: float) -> tuple[float, float, bool]:
    """Wait until no child is left; what has not ended by then is sent SIGTERM, and SIGKILL a little later.

    Returns seconds waited, CPU seconds of those that ended, and whether all ended by themselves in time.
    """
    began, cpu_s, in_time = time.monotonic(), 0.0, True
    while True:
        try:
            pid, _, usage = os.wait4(-1, os.WNOHANG)
        except ChildProcessError:
            return time.monotonic() - began, cpu_s, in_time
        if pid:
            cpu_s += usage.ru_utime + usage.ru_stime
            continue
        waited_s = time.monotonic() - began
        if in_time and waited_s > timeout_s:
            in_time = False
            _signal_children(signal.SIGTERM)
        elif waited_s > timeout_s + _GRACE_S:
            _signal_children(signal.SIGKILL)
        time.sleep(_POLL_S)


def _signal_children(number: signal.Signals) -> None:
    """Signal our children, adopted ones too; not yet reaped, so no pid is another's."""
    me = os.getpid()
    for word in Path(f"/proc/{me}/task/{me}/children").read_text().split():
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(word), number)
