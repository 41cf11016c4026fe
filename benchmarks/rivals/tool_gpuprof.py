"""gpuprof: a context round the loop, in the training process alone."""

import sqlite3
from contextlib import closing
from pathlib import Path

from benchmarks.rivals.evidence import Evidence
from benchmarks.rivals.tool import HERE, Job

_COLUMNS = {
    "step": "step",
    "wait": "dataloader_wait_s",
    "forward": "forward_s",
    "backward": "backward_s",
    "optimizer": "optimizer_s",
}


class Gpuprof:
    """Without NVML it makes figures of a GPU up; its cost is then that of the thread which does so."""

    def command(self, job: Job) -> list[str]:
        mode = job.arm.removeprefix("gpuprof-")
        return [job.python, str(HERE / "loop_gpuprof.py"), *job.options, "--mode", mode]

    def variables(self, arm: str, folder: Path) -> dict[str, str]:
        return {}

    def evidence(self, job: Job) -> Evidence:
        database = job.folder / "gpuprof.db"
        if not database.exists():
            return Evidence(missing="gpuprof left no database")
        counts = ", ".join(f"count({column})" for column in _COLUMNS.values())
        with closing(sqlite3.connect(database)) as connection:
            row = connection.execute(f"SELECT {counts} FROM steps").fetchone()
            name = connection.execute("SELECT gpu_name FROM runs").fetchone()[0]
        return Evidence(dict(zip(_COLUMNS, map(int, row), strict=True)), str(name))
