"""Starts one training under one tool, and waits for it; all times are taken from outside."""

import json
import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.rivals.family import reap, wait_for_end
from benchmarks.rivals.places import began_beside, result_in
from benchmarks.rivals.tool import Job, Tool

_GRACE_S = 15.0
_TAIL = 600


@dataclass(frozen=True)
class Ended:
    """How a process ended. Seconds; `first_step_s` from its start, `after_last_step_s` to its end.

    `cpu_s` is of the process and all that it waited for. `waiting_share` is the part of its life in which
    somebody on the host waited for a CPU (the kernel's pressure figure), None where that is not kept.
    """

    exit_code: int
    cpu_s: float
    first_step_s: float | None
    after_last_step_s: float | None
    lines_out: int
    lines_err: int
    load_1m: float
    waiting_share: float | None
    figures: list[dict[str, Any]]
    error: str | None


class Running:
    """A process that has been started; leaving the context ends it, should it still run."""

    def __init__(self, tool: Tool, job: Job, root: Path, timeout_s: float) -> None:
        """Start it in its own folder and session, output into files, `root` on the module path."""
        environment = {**os.environ, **job.environment}
        environment["PYTHONPATH"] = os.pathsep.join(
            [str(root), *filter(None, [os.environ.get("PYTHONPATH")])]
        )
        self._result = result_in(job.folder)
        self._out, self._err = job.folder / "stdout", job.folder / "stderr"
        self._load_1m = os.getloadavg()[0]
        self._waited_us = _waited_us()
        self._deadline = time.monotonic() + timeout_s
        command = tool.command(job)
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self._began_ns = time.monotonic_ns()
            self._process = subprocess.Popen(
                command,
                cwd=job.folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )

    def __enter__(self) -> "Running":
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.returncode is None:
            self._stop()
            self._process.returncode, _cpu_s = reap(self._process.pid)

    def waits(self) -> bool:
        """Return whether it has not yet begun to measure, nor ended."""
        return not began_beside(self._result).exists() and not self.has_ended()

    def has_ended(self) -> bool:
        """Return whether it has ended, or is out of time."""
        return wait_for_end(self._process.pid, 0) or time.monotonic() > self._deadline

    def wait(self) -> Ended:
        """Wait for its end; when its time is over it is stopped."""
        pid = self._process.pid
        ended = wait_for_end(pid, max(0.0, self._deadline - time.monotonic()))
        ended_ns = time.monotonic_ns()
        if not ended:
            self._stop()
        exit_code, cpu_s = reap(pid)
        self._process.returncode = exit_code  # reaped behind its back
        figures = self._figures()
        error = None if ended and exit_code == 0 and figures else self._why(ended, exit_code)
        return Ended(
            exit_code=exit_code,
            cpu_s=cpu_s,
            first_step_s=(figures[0]["first_step_at_ns"] - self._began_ns) / 1e9 if figures else None,
            after_last_step_s=(ended_ns - figures[-1]["last_step_at_ns"]) / 1e9 if figures else None,
            lines_out=_lines(self._out),
            lines_err=_lines(self._err),
            load_1m=self._load_1m,
            waiting_share=self._waiting_share(ended_ns),
            figures=figures,
            error=error,
        )

    def _stop(self) -> None:
        pid = self._process.pid
        os.kill(pid, signal.SIGTERM)  # Popen's own would reap it
        if not wait_for_end(pid, _GRACE_S):
            os.killpg(pid, signal.SIGKILL)

    def _waiting_share(self, ended_ns: int) -> float | None:
        after = _waited_us()
        if after is None or self._waited_us is None:
            return None
        return (after - self._waited_us) * 1e3 / (ended_ns - self._began_ns)

    def _figures(self) -> list[dict[str, Any]]:
        try:
            figures: list[dict[str, Any]] = json.loads(self._result.read_text())
        except (FileNotFoundError, json.JSONDecodeError):
            return []
        return figures

    def _why(self, ended: bool, exit_code: int) -> str:
        how = f"exit code {exit_code}" if ended else "stopped because it took too long"
        said = self._err.read_text(errors="replace")[-_TAIL:]
        return f"{how}: {said}"


def _lines(path: Path) -> int:
    with path.open("rb") as text:
        return sum(1 for _ in text)


def _waited_us() -> int | None:
    """Return for how long, since the start of the host, some task has waited for a CPU."""
    try:
        some = Path("/proc/pressure/cpu").read_text().splitlines()[0]
    except (OSError, IndexError):
        return None
    return int(some.rpartition("total=")[2])
