"""perftui, through its command line alone."""

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

from benchmarks.rivals.evidence import Evidence
from benchmarks.rivals.tool import HERE, Job

_PARTS = {"wait": "loader_wait", "forward": "forward", "backward": "backward", "optimizer": "optimizer"}

_SETTLED_S = 15.0
_POLL_S = 0.5


class Perftui:
    """`perftui run --no-tui -- python loop.py`, its files kept apart from the user's own runs."""

    def command(self, job: Job) -> list[str]:
        script = [job.python, str(HERE / "loop.py"), *job.options]
        return [job.python, "-m", "perftui.tui", "run", "--no-tui", "--", *script]

    def variables(self, arm: str, folder: Path) -> dict[str, str]:
        places = {
            "PERFTUI_RUNTIME_DIR": str(folder / "r"),
            "XDG_STATE_HOME": str(folder / "s"),
        }
        return {**places, "PERFTUI_PHASES": "all"} if arm == "perftui-phases" else places

    def evidence(self, job: Job) -> Evidence:
        runs: list[dict[str, Any]] = _ask(job, "ls", "--json").get("runs") or []
        if len(runs) != 1:
            return Evidence(missing=f"perftui knows {len(runs)} runs")
        rank = _rank(job, str(runs[0]["run_id"]))
        if rank is None:
            return Evidence(missing="perftui kept no rank's steps")
        steps, dropped = int(rank["steps"]), int(rank["dropped"])
        kept = steps - dropped
        recorded = {"step": kept}
        recorded |= {name: kept for name, part in _PARTS.items() if rank["shares"].get(part) is not None}
        notes = (f"{dropped} steps dropped",) if dropped else ()
        parts = rank["device_ms"].get("parts")
        if parts:
            notes = (*notes, f"{parts['sampled_steps']} of the newest steps on the device's timeline")
        return Evidence(recorded, str(rank["device"]), notes)


def _rank(job: Job, run_id: str) -> dict[str, Any] | None:
    """Return the rank's part of the summary; its hub may still be at the last steps."""
    deadline = time.monotonic() + _SETTLED_S
    while True:
        ranks: list[dict[str, Any]] = _ask(job, "status", run_id, "--json").get("ranks") or []
        if ranks:
            return ranks[0]
        if time.monotonic() > deadline:
            return None
        time.sleep(_POLL_S)


def _ask(job: Job, *words: str) -> dict[str, Any]:
    command = [job.python, "-m", "perftui.tui", *words]
    done = subprocess.run(
        command, env={**os.environ, **job.environment}, capture_output=True, text=True, check=False
    )
    try:
        answer: dict[str, Any] = json.loads(done.stdout)
    except json.JSONDecodeError:
        return {}
    return answer
