"""perftui, through its command line alone."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from benchmarks.rivals.evidence import Evidence
from benchmarks.rivals.tool import HERE, Job

_PARTS = {"wait": "loader_wait", "forward": "forward", "backward": "backward", "optimizer": "optimizer"}


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
        summary = _ask(job, "status", str(runs[0]["run_id"]), "--json")
        ranks: list[dict[str, Any]] = summary.get("ranks") or []
        if not ranks:
            return Evidence(missing="perftui kept no rank's steps")
        rank = ranks[0]
        steps, dropped = int(rank["steps"]), int(rank["dropped"])
        kept = steps - dropped
        recorded = {"step": kept}
        recorded |= {name: kept for name, part in _PARTS.items() if rank["shares"].get(part) is not None}
        notes = (f"{dropped} steps dropped",) if dropped else ()
        return Evidence(recorded, str(rank["device"]), notes)


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
