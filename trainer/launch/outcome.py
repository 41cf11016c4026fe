"""Says in one word how a training ended, from its code, who stopped it, and its last words. Pure."""

import re
from dataclasses import dataclass

_GPU_MEMORY = re.compile(
    r"OutOfMemoryError|(CUDA|HIP) out of memory|CUDA error: out of memory|CUBLAS_STATUS_ALLOC_FAILED"
)
_WORKER_KILLED = re.compile(r"killed by signal: Killed|exitcode *: *-9|Signal 9 \(SIGKILL\)")
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])")
_START_S = 120.0
_KILLED = frozenset({-9, 137})


@dataclass(frozen=True)
class Ending:
    """What is known when the command has ended."""

    exit_code: int
    stopped_by: str | None
    text: str
    """The newest output."""
    lived_s: float
    stepped: bool
    """Whether a first step was seen."""
    host_kills: int
    """How many processes of our cgroup the kernel killed for want of memory during the run."""


def outcome_of(ending: Ending) -> str:
    """Return the `Outcome` word; for a failed trial it is the result, so it must name the cause."""
    if ending.stopped_by is not None:
        return "stopped"
    if ending.exit_code == 0:
        return "finished"
    if _GPU_MEMORY.search(ending.text):
        return "oom_gpu"
    if ending.host_kills > 0 and (ending.exit_code in _KILLED or _WORKER_KILLED.search(ending.text)):
        return "oom_host"
    if not ending.stepped and ending.lived_s < _START_S:
        return "died_at_start"
    return "failed"


def last_lines(text: str, count: int = 20) -> list[str]:
    """Return the last non-empty lines; of a line that was redrawn, its last state; no escape sequences."""
    lines: list[str] = []
    for line in text.replace("\r\n", "\n").split("\n"):
        shown = _ESCAPES.sub("", line.rstrip("\r").rpartition("\r")[2]).rstrip()
        shown = "".join(letter for letter in shown if letter.isprintable() or letter == "\t")
        if shown:
            lines.append(shown[:500])
    return lines[-count:]
