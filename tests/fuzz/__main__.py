"""`python -m tests.fuzz` (`make fuzz`): a million wrong inputs at codecs, readers and a hub's sockets.

Prints how many were sent, taken and refused, how long it took, and the hub's memory before and after. Exit
code 1 where something was wrong; a frame that was is left as a file, whose path is printed.
"""

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from . import hub_under_fire, seeds, trace_seeds
from .mutation import wrong
from .targets import scratch_folder, targets

_SHARES = {
    "from_rank": 0.15,
    "to_rank": 0.05,
    "from_dashboard": 0.10,
    "to_dashboard": 0.10,
    "fold": 0.15,
    "questions": 0.03,
    "sampler": 0.03,
    "recording": 0.04,
    "replay": 0.005,
    "records": 0.02,
    "output": 0.02,
    "trace": 0.005,
    "ranks.sock": 0.20,
    "dash.sock": 0.10,
}
_BELOW = 0.0005
_WAYS: dict[str, Callable[[random.Random, bytes, Sequence[bytes]], bytes]] = {
    **dict.fromkeys(trace_seeds.TEXTS, trace_seeds.wrong_text),
    "recording": seeds.wrong_segment,
    "replay": seeds.wrong_segment,
}
"""How inputs are made wrong that are no frames."""


def begin_of(name: str) -> Sequence[bytes]:
    """Return the whole inputs of a target."""
    if name in ("from_rank", "fold"):
        return [*seeds.recorded(), *seeds.FROM_RANK]
    return {
        "to_rank": seeds.TO_RANK,
        "from_dashboard": seeds.FROM_DASHBOARD,
        "questions": seeds.FROM_DASHBOARD,
        "to_dashboard": seeds.TO_DASHBOARD,
        "recording": seeds.segments(),
        "replay": seeds.segments(),
        "trace": trace_seeds.TRACES,
        "records": trace_seeds.RECORDS,
        "sampler": trace_seeds.LINES,
        "output": trace_seeds.OUTPUT,
    }[name]


def way_of(name: str) -> Callable[[random.Random, bytes, Sequence[bytes]], bytes]:
    """Return how the inputs of a target are made wrong."""
    return _WAYS.get(name, wrong)


def within(name: str, count: int, seed: int) -> Counter[str]:
    """Fire at one target of this process.

    Raises:
        Exception: whatever a target let through; the input that did it stands in a file.
    """
    draw, found, begin = random.Random(f"{seed}-{name}"), Counter[str](), begin_of(name)
    with scratch_folder() as folder:
        target = targets(folder)[name]
        for _ in range(count):
            whole = draw.choice(begin)
            made = way_of(name)
            data = made(draw, whole, begin)
            try:
                found[target(data)] += 1
            except BaseException:
                path = Path(tempfile.gettempdir()) / f"fuzz-{name}.input"
                path.write_bytes(data)
                sys.stderr.write(f"{name}: the input is in {path}\n")
                raise
    return found


def over_sockets(ranks: int, dashboards: int, below: int, seed: int) -> dict[str, object]:
    """Fire at a real hub, and return what came of it."""
    draw = random.Random(seed)
    with hub_under_fire.hub_at() as hub:
        pid, before, descriptors = hub.process.pid, hub.rss_mib(), hub.descriptors()
        told: dict[str, object] = {
            "ranks.sock": dict(hub_under_fire.fire_at_ranks(hub, ranks, draw)),
            "dash.sock": dict(hub_under_fire.fire_at_dashboards(hub, dashboards, draw)),
            "below ZeroMQ": dict(hub_under_fire.fire_below_zeromq(hub, below, draw)),
        }
        told["not taken"] = hub_under_fire.refused_by_kind(hub)
        told["serves"] = hub_under_fire.still_takes_steps(hub)
        told["same process"] = hub.process.poll() is None and hub.process.pid == pid
        told["took effect"] = hub_under_fire.what_took_effect(hub.places)
        told["rss_mib"] = {"before": before, "after": hub.rss_mib(), "peak": hub.peak_mib()}
        told["descriptors"] = {"before": descriptors, "after": hub.descriptors()}
    return told


def main() -> int:
    """Run all of it."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--frames", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=list(_SHARES), help="targets")
    asked = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="fz-"))
    os.environ |= {"PERFTUI_RUNTIME_DIR": str(folder / "r"), "XDG_STATE_HOME": str(folder / "s")}
    began, total, results = time.monotonic(), 0, dict[str, object]()
    try:
        for name in asked.only:
            if name.endswith(".sock"):
                continue
            started, count = time.monotonic(), int(asked.frames * _SHARES[name])
            found = within(name, count, asked.seed)
            results[name] = {**found, "seconds": round(time.monotonic() - started, 1)}
            total += count
            sys.stderr.write(f"{name}: {results[name]}\n")
        ok = True
        if {"ranks.sock", "dash.sock"} <= set(asked.only):
            ranks, dashboards = (int(asked.frames * _SHARES[each]) for each in ("ranks.sock", "dash.sock"))
            below = max(20, int(asked.frames * _BELOW))
            told = over_sockets(ranks, dashboards, below, asked.seed)
            results |= told
            total += ranks + dashboards + below
            taken = told["dash.sock"]
            assert isinstance(taken, dict)
            ok = bool(told["serves"] and told["same process"]) and not told["took effect"]
            ok = ok and not taken.get("wrongly taken")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    results |= {"inputs": total, "seconds": round(time.monotonic() - began, 1), "seed": asked.seed, "ok": ok}
    sys.stdout.write(json.dumps(results, indent=1) + "\n")
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
