"""Where a process id means a process: on one boot of one host, in one namespace of pids.

A home folder may be shared by hosts, and containers of one host share its name and not its pids: a pid that
was written into a file elsewhere means nothing here, or another process.
"""

import socket
from pathlib import Path

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_PID_NAMESPACE = Path("/proc/self/ns/pid")


def own_pid_space() -> str | None:
    """Return what names the boot of this host and the namespace of this process; None: it cannot be told."""
    try:
        namespace = _PID_NAMESPACE.stat().st_ino
    except OSError:
        return None
    boot = boot_id()
    return None if boot is None else f"{boot} {namespace}"


def boot_id() -> str | None:
    """Return what names this boot of this host; None: it cannot be told."""
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:
        return None


def pids_mean_processes(host: str, pid_space: str | None) -> bool:
    """Tell whether pids that another process wrote down can be looked up here.

    Args:
        host: the name of its host.
        pid_space: its `own_pid_space`; None: it could not tell, and the name must do.
    """
    own = own_pid_space()
    same_host = host == socket.gethostname()
    if own is None or pid_space is None:
        return same_host
    if pid_space == own:
        return True  # the host may have got another name meanwhile
    rebooted = pid_space.partition(" ")[0] != own.partition(" ")[0]
    return same_host and rebooted  # then nothing of before lives
