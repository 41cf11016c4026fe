"""One process of a round, prepared; and what is kept of it."""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.rivals.arms import Arm, ToolName
from benchmarks.rivals.cells import FLOOD, Group
from benchmarks.rivals.evidence import Evidence, why_void
from benchmarks.rivals.launch import Ended, Running
from benchmarks.rivals.places import result_in
from benchmarks.rivals.tool import Job
from benchmarks.rivals.tools import TOOLS

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Settings:
    """What stays the same over all rounds. `ahead`: so many processes get ready while another measures."""

    pythons: dict[ToolName, str]
    scale: float
    device: str
    ahead: int
    timeout_s: float
    pictures: Path | None


@dataclass(frozen=True)
class Turn:
    """An arm's place in a round."""

    group: Group
    number: int
    order: int
    arm: Arm


def turns_of(group: Group, arms: Sequence[Arm], number: int) -> list[Turn]:
    """Return a round: the arms rotated by its number, every other round backwards."""
    start = number % len(arms)
    rotated = [*arms[start:], *arms[:start]]
    ordered = rotated if number % 2 == 0 else rotated[::-1]
    return [Turn(group, number, order, arm) for order, arm in enumerate(ordered)]


def job_of(settings: Settings, turn: Turn, folder: Path, gate: Path | None) -> Job:
    """Return what to start, in a folder of its own."""
    arm = turn.arm
    own = folder / f"{turn.number}-{arm.name}"
    own.mkdir()
    python = settings.pythons.get(arm.tool, settings.pythons["plain"])
    options = ["--cells", ",".join(turn.group.cells), "--result", str(result_in(own))]
    options += ["--scale", str(settings.scale)]
    if settings.device:
        options += ["--device", settings.device]
    if settings.pictures is not None:
        options += ["--pictures", str(settings.pictures)]
    if gate is not None:
        options += ["--gate", str(gate)]
    return Job(arm.name, python, own, options, TOOLS[arm.tool].variables(arm.name, own))


def start(settings: Settings, turn: Turn, job: Job) -> Running:
    return Running(TOOLS[turn.arm.tool], job, ROOT, settings.timeout_s)


def evidence_of(turn: Turn, job: Job, *, left_processes: bool) -> Evidence:
    """Return the tool's own account."""
    found = TOOLS[turn.arm.tool].evidence(job)
    if not left_processes:
        return found
    return Evidence(found.recorded, found.where, found.notes, missing="it left processes behind")


def record_of(turn: Turn, ended: Ended, evidence: Evidence) -> dict[str, Any]:
    """Return a launch as it stands in the result.

    Beside what `Ended` says: `recorded`, `where` and `notes` are the tool's own account; `void` is why the
    figures must not be used, or None.
    """
    steps = sum(figure["warm_up"] + figure["steps"] for figure in ended.figures)
    patched = {name: place for figure in ended.figures for name, place in figure["patched"].items()}
    void = ended.error or why_void(turn.arm, evidence, steps, patched, may_lose=turn.group.name == FLOOD)
    return {
        "group": turn.group.name,
        "round": turn.number,
        "order": turn.order,
        "arm": turn.arm.name,
        "unix": round(time.time()),
        **asdict(ended),
        "recorded": dict(evidence.recorded),
        "where": evidence.where,
        "notes": list(evidence.notes),
        "void": void,
    }


def line_of(record: dict[str, Any]) -> str:
    """Return a launch in one line, for whoever waits."""
    costs = [f"{figure['cpu_us']:8.1f} µs CPU {figure['wall_us']:8.1f} wall" for figure in record["figures"]]
    void = f"  VOID: {record['void'].strip().splitlines()[-1]}" if record["void"] else ""
    return f"{record['group']:12} {record['round']:3} {record['arm']:15} {' | '.join(costs)}{void}"
