"""The result file: what was asked, on what, and every process; written after each round, read to go on."""

import json
import os
import platform
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SCHEMA = 1


@dataclass
class Results:
    """The document. A launch is one process; see `campaign.py` for its fields."""

    head: dict[str, Any]
    launches: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def rounds_done(self, group: str) -> set[int]:
        """Return the rounds of a group that are complete: none is written before."""
        return {launch["round"] for launch in self.launches if launch["group"] == group}


def read_results(path: Path) -> Results | None:
    """Return what an earlier call left, or None.

    Raises:
        ValueError: the file is something else.
    """
    if not path.exists():
        return None
    document: dict[str, Any] = json.loads(path.read_text())
    if document.get("schema") != SCHEMA or "launches" not in document:
        raise ValueError(f"{path} is no result of this benchmark")
    launches: list[dict[str, Any]] = document.pop("launches")
    return Results(document, launches)


def joined(paths: Sequence[Path]) -> Results:
    """Return several results as one: rounds of the same campaign that were played side by side.

    Raises:
        ValueError: a file is missing, or was made with other versions or another scale.
    """
    together: Results | None = None
    for path in paths:
        found = read_results(path)
        if found is None:
            raise ValueError(f"{path}: no such file")
        if together is None:
            together = found
            continue
        heads = (together.head, found.head)
        ours, theirs = ((head["versions"], head["settings"]["scale"]) for head in heads)
        if ours != theirs:
            raise ValueError(f"{path} was made with other versions or another scale than {paths[0]}")
        together.launches += found.launches
    if together is None:
        raise ValueError("no result to print")
    return together


def write_results(path: Path, results: Results) -> None:
    """Replace the file at once, so that a stop in between leaves the old one."""
    beside = path.with_suffix(".part")
    beside.write_text(json.dumps({**results.head, "launches": results.launches}, indent=1) + "\n")
    beside.replace(path)


def head_of(settings: dict[str, Any], versions: dict[str, dict[str, str]]) -> dict[str, Any]:
    """Return the document's head: date, machine, versions, and the settings that every round must share."""
    return {
        "schema": SCHEMA,
        "what": "cost of tools on a training, times by the loop itself; microseconds and seconds",
        "date": time.strftime("%Y-%m-%d"),
        "machine": {
            "cpu": _cpu(),
            "cores": len(os.sched_getaffinity(0)),
            "kernel": platform.release(),
            "gpu": _gpu(),
        },
        "versions": versions,
        "settings": settings,
    }


def _cpu() -> str:
    with Path("/proc/cpuinfo").open() as lines:
        models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.machine()


def _gpu() -> str | None:
    try:
        done = subprocess.run(
            ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError:
        return None
    return done.stdout.strip() or None
