"""Measures the dashboard in one terminal, on a simulation that goes on."""

import os
import sys
import time
from dataclasses import dataclass

from benchmarks.screen.latency import shown_steps, step_to_paint_s
from benchmarks.screen.records import Row, spread
from benchmarks.screen.terminal import ENVIRONMENT, RecordedTerminal, cpu_s, family, resident_mib
from benchmarks.simulator.job import Job
from benchmarks.simulator.live import Simulation

_SETTLE_S = 3.0
_SAMPLES = 10
_TIMEOUT_S = 30.0
_PAGES = ((b"?", b"help: only"), (b"f", b"findings"), (b"i", b"settings in force"))
"""A key and words that only the page it opens has."""
_BACK_S = 0.7


@dataclass(frozen=True)
class Plan:
    """How much is measured in each terminal."""

    starts: int = 5
    keys: int = 20
    seconds: float = 30.0


def measured(simulation: Simulation, job: Job, columns: int, lines: int, plan: Plan) -> Row:
    """Measure the dashboard in a terminal of one size."""
    paints: list[float] = []
    figures: list[float] = []
    notes: list[str] = []
    for _ in range(plan.starts - 1):
        terminal = _dashboard(simulation.run_id, columns, lines)
        try:
            _await_start(terminal, paints, figures, notes)
        finally:
            terminal.close()
    terminal = _dashboard(simulation.run_id, columns, lines)
    try:
        _await_start(terminal, paints, figures, notes)
        time.sleep(_SETTLE_S)
        keys = _keys(terminal, plan.keys, notes)
        time.sleep(_SETTLE_S)
        began = time.perf_counter()
        pids, hub = family(terminal.process.pid), simulation.hub.pid
        before, hub_before = sum(map(cpu_s, pids)), cpu_s(hub)
        rss: list[float] = []
        for part in range(_SAMPLES):
            time.sleep(max(0.0, began + (part + 1) * plan.seconds / _SAMPLES - time.perf_counter()))
            rss.append(round(sum(map(resident_mib, pids)), 1))
        ended = time.perf_counter()
        used, hub_used = sum(map(cpu_s, pids)) - before, cpu_s(hub) - hub_before
        time.sleep(1.0)
        hub_rss = resident_mib(hub)
    finally:
        terminal.close()
    shown = shown_steps(list(terminal.painted), columns, lines)
    steps = step_to_paint_s(shown, _step_ends_s(simulation.job, ended), began, ended)
    return Row(
        program="perftui",
        version="",
        ranks=job.ranks,
        size=f"{columns}x{lines}",
        scenario=job.scenario,
        first_paint=spread(paints),
        first_figures=spread(figures),
        key=spread(keys),
        step=spread(steps),
        seconds=round(ended - began, 1),
        cpu_share=round(used / (ended - began), 4),
        bytes_per_s=round(terminal.bytes_between(began, ended) / (ended - began)),
        rss_mib=rss,
        hub_cpu_share=round(hub_used / (ended - began), 4),
        hub_rss_mib=round(hub_rss, 1),
        notes=notes,
    )


def _dashboard(run_id: str, columns: int, lines: int) -> RecordedTerminal:
    command = [sys.executable, "-m", "perftui.tui", run_id]
    return RecordedTerminal(command, columns, lines, {**os.environ, **ENVIRONMENT})


def _await_start(
    terminal: RecordedTerminal, paints: list[float], figures: list[float], notes: list[str]
) -> None:
    first = terminal.wait_for(b"perftui", terminal.started_s, _TIMEOUT_S)
    second = terminal.wait_for(b"training", terminal.started_s, _TIMEOUT_S)
    if first is None or second is None:
        notes.append("a dashboard did not paint")
        return
    paints.append(first)
    figures.append(second)


def _keys(terminal: RecordedTerminal, count: int, notes: list[str]) -> list[float]:
    """Open pages by their keys and go back, again and again; return how long each took to be painted."""
    took: list[float] = []
    for turn in range(count):
        key, mark = _PAGES[turn % len(_PAGES)]
        typed = terminal.type(key)
        answer = terminal.wait_for(mark, typed, _TIMEOUT_S)
        if answer is None:
            notes.append(f"no answer to the key {key.decode()}")
            continue
        took.append(answer)
        time.sleep(_BACK_S + 0.037 * turn)  # not in step with the updates
        terminal.type(b"q")
        time.sleep(_BACK_S)
    return took


def _step_ends_s(job: Job, until_s: float) -> list[float]:
    """Return when each step of rank 0 ended, on this host's `perf_counter`."""
    return [end_ns / 1e9 for end_ns in job.rank(0).ends_ns(int(until_s * 1e9))]
