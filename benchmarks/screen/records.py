"""The rows of a result, and the file that they are kept in."""

import platform
import time
from importlib.metadata import version
from pathlib import Path
from statistics import median, quantiles

import msgspec


class Spread(msgspec.Struct, frozen=True, kw_only=True):
    """Some durations, in ms."""

    count: int
    median_ms: float
    p95_ms: float
    most_ms: float


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One program in one terminal. None: not measured, and `notes` says why."""

    program: str
    version: str
    ranks: int
    size: str
    scenario: str = ""
    first_paint: Spread | None = None
    """From the start of the program to the first frame with the run's name."""
    first_figures: Spread | None = None
    """To the first frame with a rank's figures."""
    key: Spread | None = None
    """From a key to the painted page that it opens."""
    step: Spread | None = None
    """From the end of a step (of all ranks) to its number on the screen."""
    seconds: float = 0.0
    """How long was measured what follows."""
    cpu_share: float | None = None
    """Of one core, all processes of the program."""
    bytes_per_s: float | None = None
    """To the terminal."""
    rss_mib: list[float] = []
    """At equal distances over these seconds."""
    hub_cpu_share: float | None = None
    hub_rss_mib: float | None = None
    notes: list[str] = []


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """All rows of one measurement."""

    date: str
    machine: str
    cores: int
    python: str
    versions: dict[str, str]
    command: list[str]
    rows: list[Row]


def spread(seconds: list[float]) -> Spread | None:
    """Return the spread of some durations; None where there are none."""
    if not seconds:
        return None
    ordered = sorted(each * 1e3 for each in seconds)
    p95 = quantiles(ordered, n=20, method="inclusive")[-1] if len(ordered) > 1 else ordered[0]
    return Spread(
        count=len(ordered),
        median_ms=round(median(ordered), 1),
        p95_ms=round(p95, 1),
        most_ms=round(ordered[-1], 1),
    )


def write_result(path: Path, command: list[str], rows: list[Row], cores: int) -> None:
    """Write the rows that there are so far."""
    versions = {name: version(name) for name in ("perftui", "textual", "rich", "pyzmq", "msgspec")}
    result = Result(
        date=time.strftime("%Y-%m-%d"),
        machine=platform.machine(),
        cores=cores,
        python=platform.python_version(),
        versions=versions,
        command=command,
        rows=rows,
    )
    path.write_bytes(msgspec.json.format(msgspec.json.encode(result), indent=1) + b"\n")
