"""What the runner asks of each tool, and the answers for none."""

import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from benchmarks.rivals.evidence import Evidence

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Job:
    """One process to start.

    `options` are the training script's own. `folder` is its alone: it starts there and may leave files.
    """

    arm: str
    python: str
    folder: Path
    options: list[str]
    environment: Mapping[str, str]


class Tool(Protocol):
    """One tool's documented way of running a script."""

    def command(self, job: Job) -> list[str]:
        """Return the command line."""
        ...

    def variables(self, arm: str, folder: Path) -> dict[str, str]:
        """Return what comes on top of the environment."""
        ...

    def evidence(self, job: Job) -> Evidence:
        """Return what the tool kept, once all its processes are gone. Never raises for want of a file."""
        ...


class Nothing:
    """The script as it is."""

    def command(self, job: Job) -> list[str]:
        return [job.python, str(HERE / "loop.py"), *job.options]

    def variables(self, arm: str, folder: Path) -> dict[str, str]:
        return {}

    def evidence(self, job: Job) -> Evidence:
        return Evidence()


def free_port() -> int:
    """Return a TCP port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def only_path(folder: Path, pattern: str) -> Path | None:
    """Return the one file that fits, or None."""
    found = list(folder.glob(pattern))
    return found[0] if len(found) == 1 else None
