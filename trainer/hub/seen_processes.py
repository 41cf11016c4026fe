"""Whether a rank's pid means its process where the hub runs: not on another host or in another pid namespace.

A container may have a namespace of its own, in which pids begin at 1.
"""

from perftui.ipc.messages import Hello
from perftui.trainer.probe.identity import pid_namespace


def pid_means_process(hello: Hello, host: str) -> bool:
    """Tell whether the hub can look a rank up by its pid.

    Args:
        hello: of the rank.
        host: the hub's own.
    """
    if hello.host != host:
        return False
    return hello.pid_namespace is None or hello.pid_namespace == pid_namespace()
