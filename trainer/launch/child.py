"""Starts the command as the keeper's child, and what the kernel tells about its end.

Standard library only: part of the keeper.
"""

import ctypes
import os
import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

from perftui.trainer.launch.console import Streams
from perftui.trainer.launch.keeper_files import KeeperOrder

_PR_SET_PDEATHSIG = 1


def spawn(order: KeeperOrder, streams: Streams, umask: int) -> "subprocess.Popen[bytes]":
    """Start the command in a session of its own; called while the keeper has one thread and no handlers.

    Args:
        order: what to start.
        streams: its stdio.
        umask: the user's, which is not the keeper's own.

    Raises:
        OSError: the system would not start it.
    """
    return subprocess.Popen(
        order.command,
        cwd=order.cwd,
        env={**os.environ, **order.additions},
        stdin=subprocess.DEVNULL if streams.stdin is None else streams.stdin,
        stdout=streams.stdout,
        stderr=streams.stderr,
        start_new_session=True,
        umask=umask,
        # files that the shell opened for the command, as in <(…), are handed down
        close_fds=order.stdio != "pipes",
        preexec_fn=None if order.die_with is None else _end_with_keeper(os.getpid()),
    )


def _end_with_keeper(keeper: int) -> Callable[[], None]:
    """Return what makes the kernel end the child when the keeper is killed."""
    prctl = ctypes.CDLL(None, use_errno=True).prctl

    def ask() -> None:
        prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
        if os.getppid() != keeper:
            os.kill(os.getpid(), signal.SIGTERM)

    return ask


def drop_inherited_files(keep: int) -> None:
    """Close what the shell opened for the command: whoever reads it must see its end with the command's."""
    for entry in list(Path("/proc/self/fd").iterdir()):
        number = int(entry.name)
        if number <= 2 or number == keep:
            continue
        try:
            if os.get_inheritable(number):
                os.close(number)
        except OSError:  # the listing's own descriptor is closed by now
            continue


class CgroupKills:
    """How many processes of our cgroup the kernel has killed for want of memory since this was made."""

    def __init__(self) -> None:
        self._before = _oom_kills()

    def since(self) -> int:
        """Return the rise; 0 where the kernel does not tell."""
        return max(0, _oom_kills() - self._before)


def _oom_kills() -> int:
    for path in _memory_event_files():
        try:
            found = re.search(r"^oom_kill (\d+)$", path.read_text(), re.MULTILINE)
        except OSError:
            continue
        if found is not None:
            return int(found[1])
    return 0


def _memory_event_files() -> list[Path]:
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    files: list[Path] = []
    for line in lines:
        _, controllers, group = line.split(":", 2)
        inside = group.lstrip("/")
        if not controllers:
            files += [Path("/sys/fs/cgroup", place, "memory.events") for place in (inside, "")]
        elif "memory" in controllers.split(","):
            files += [Path("/sys/fs/cgroup/memory", place, "memory.oom_control") for place in (inside, "")]
    return files
