"""TraceML: `traceml run`, which starts an aggregator and torchrun."""

import sqlite3
from contextlib import closing
from pathlib import Path

from benchmarks.rivals.cells import FLOOD
from benchmarks.rivals.evidence import Evidence
from benchmarks.rivals.tool import HERE, Job, free_port, only_path

INTERVAL_S = 0.5
"""Its default of 2 s loses steps above 1024 a second and prints a line for each; so it keeps them all."""
_EVENTS = {
    "step": "step_time",
    "wait": "dataloader_next",
    "forward": "forward_time",
    "backward": "backward_time",
    "optimizer": "optimizer_step",
}


class TraceMl:
    """Free ports in place of its fixed ones, so that neighbours on a host do not stop it."""

    def command(self, job: Job) -> list[str]:
        launcher = [job.python, "-m", "traceml_ai.launcher.cli", "run", str(HERE / "loop_traceml.py")]
        ports = ["--aggregator-port", str(free_port()), "--master-port", str(free_port())]
        interval = [] if _is_flood(job) else ["--interval", str(INTERVAL_S)]
        mode = job.arm.removeprefix("traceml-")
        return [*launcher, *ports, *interval, "--args", *job.options, "--mode", mode]

    def variables(self, arm: str, folder: Path) -> dict[str, str]:
        return {}

    def evidence(self, job: Job) -> Evidence:
        database = only_path(job.folder, "logs/*/aggregator/telemetry")
        if database is None:
            return Evidence(missing="TraceML left no telemetry")
        with closing(sqlite3.connect(database)) as connection:
            kept = [str(row[0]) for row in connection.execute("SELECT events_json FROM step_time_samples")]
            latest = connection.execute("SELECT max(step) FROM step_time_samples").fetchone()[0] or 0
        recorded = {name: sum(f":{event}" in text for text in kept) for name, event in _EVENTS.items()}
        lost = int(latest) - len(kept)
        clock = "GPU clock" if any('"is_gpu":true' in text for text in kept) else "CPU clock"
        return Evidence(recorded, clock, (f"{lost} steps lost",) if lost > 0 else ())


def _is_flood(job: Job) -> bool:
    return FLOOD in job.options
