"""What of a difference between A and B the circumstances explain: clocks, heat, neighbours, cold files. Pure.

Each reason comes with the most that it can have brought, in log units: a launch whose GPU ran faster would
have been faster by as much without the change. What is left after all of them is the change's own. What a
first launch lost by reading from storage what later ones found in the page cache, nobody knows: it explains
any difference, until its setting has been launched once more.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from perftui.ipc.ledger_records import Launch

_CLOCKS_WITHIN = 0.01
"""Means of clocks that are closer are the same."""
_THROTTLED_MORE = 0.05
_OUTSIDE_CAUSES = ("thermal_sw", "thermal_hw", "power_brake")
"""A power cap is not among them: a change that makes a GPU work harder brings it about itself."""
_FOREIGN_CORES = 0.3
_FOREIGN_SHARE = 0.05
_SATURATED_SHARE = 0.85
_MOST_SHARE = 0.95
_READS_TIMES = 2.0
_READS_MIB_S = 1.0
"""Slower reading holds nothing up: log files, a module that is loaded late."""


@dataclass(frozen=True)
class Reason:
    """One circumstance that differed."""

    words: str
    favours_b: float
    """By how much at most it made B look faster, as log speed-up; negative: A."""


def is_loaded(foreign_cores: float, cpus: float) -> bool:
    """Whether so many cores busy with other work disturb a measurement on a host of `cpus` cores."""
    return foreign_cores > max(_FOREIGN_CORES, _FOREIGN_SHARE * cpus)


def reasons(launches: Sequence[Launch], cpus: float) -> list[Reason]:
    """Return what differed between the launches of A and those of B, with what it can have brought."""
    return [
        *_of_clocks(launches),
        *_of_foreign_processes(launches),
        *_of_foreign_cores(launches, cpus),
        *_of_cold_files(launches),
    ]


def without_cold(launches: Sequence[Launch]) -> list[Launch]:
    """Leave out launches that read from storage what a later one of their setting found in the page cache."""
    return [
        launch
        for place, launch in enumerate(launches)
        if not any(
            later.label == launch.label and _reads_clearly_more(launch, later)
            for later in launches[place + 1 :]
        )
    ]


def explains(reasons_: Sequence[Reason], lo: float, hi: float) -> bool:
    """Whether an interval of log speed-up that excludes zero holds it once circumstances are allowed for."""
    for_b = sum(max(reason.favours_b, 0.0) for reason in reasons_)
    for_a = sum(max(-reason.favours_b, 0.0) for reason in reasons_)
    return 0 < lo <= for_b or -for_a <= hi < 0


def _means(launches: Sequence[Launch], value: Callable[[Launch], float | None]) -> tuple[float, float] | None:
    """Return the mean of A and that of B; None unless all launches tell."""
    found: list[float] = []
    for label in ("A", "B"):
        values = [value(launch) for launch in launches if launch.label == label]
        known = [each for each in values if each is not None]
        if not known or len(known) < len(values):
            return None
        found.append(sum(known) / len(known))
    return found[0], found[1]


def _of_clocks(launches: Sequence[Launch]) -> Iterator[Reason]:
    clocks = _means(launches, lambda launch: launch.circumstances.sm_clock_mhz)
    held = _means(launches, _throttled)
    if clocks is not None and min(clocks) > 0:
        a, b = clocks
        if max(clocks) > min(clocks) * (1 + _CLOCKS_WITHIN):
            busy = _means(launches, lambda launch: launch.circumstances.utilisation_share) or (1.0, 1.0)
            share = busy[0] if a < b else busy[1]
            bought = -math.log(1 - share + share * min(clocks) / max(clocks))
            words = f"the GPU ran at {a:.0f} MHz in A and at {b:.0f} MHz in B{_why_held(held)}"
            yield Reason(words, bought if b > a else -bought)
    elif held is not None and abs(held[0] - held[1]) > _THROTTLED_MORE:
        bought = math.log((1 - min(*held, _MOST_SHARE)) / (1 - min(max(held), _MOST_SHARE)))
        yield Reason(_why_held(held).lstrip(", "), bought if held[0] > held[1] else -bought)


def _throttled(launch: Launch) -> float | None:
    shares = launch.circumstances.throttled_share
    return max((shares.get(kind, 0.0) for kind in _OUTSIDE_CAUSES), default=0.0)


def _why_held(held: tuple[float, float] | None) -> str:
    if held is None or abs(held[0] - held[1]) <= _THROTTLED_MORE:
        return ""
    label, share = ("A", held[0]) if held[0] > held[1] else ("B", held[1])
    return f", heat or the power supply held its clocks down for {share:.0%} of {label}"


def _of_foreign_processes(launches: Sequence[Launch]) -> Iterator[Reason]:
    """Yield what sharing a GPU can have cost: with n others a process gets one part of n + 1."""
    others = _means(launches, lambda launch: launch.circumstances.foreign_processes)
    if others is not None and abs(others[0] - others[1]) >= 0.5:
        a, b = others
        words = f"others had {a:.3g} processes on a GPU during A and {b:.3g} during B"
        yield Reason(words, math.log((1 + a) / (1 + b)))


def _of_foreign_cores(launches: Sequence[Launch], cpus: float) -> Iterator[Reason]:
    """Yield what other work on the cores can have cost; nothing where cores were free all the time."""
    cores = _means(launches, lambda launch: launch.foreign_cores)
    if cores is None or not is_loaded(abs(cores[0] - cores[1]), cpus):
        return
    a, b = cores
    busy = _means(launches, lambda launch: launch.circumstances.busy_cores)
    if busy is not None and (busy[0] if a > b else busy[1]) < _SATURATED_SHARE * cpus:
        return
    most = _MOST_SHARE * cpus
    bought = math.log((cpus - min(a, b)) / (cpus - min(max(a, b), most)))
    words = f"other work kept {a:.1f} cores of the host busy during A and {b:.1f} during B"
    yield Reason(words, bought if a > b else -bought)


def _of_cold_files(launches: Sequence[Launch]) -> Iterator[Reason]:
    """Yield what the page cache can have brought: A reads cold files, and B the same ones from memory.

    A launch of the first setting after one of the other shows whether it is the cache.
    """
    first = launches[0].label
    early = [launch for launch in launches if launch.label == first]
    others = [launch for launch in launches if launch.label != first]
    if not others or [launch.label for launch in launches[: len(early)]] != [first] * len(early):
        return
    if all(_reads_clearly_more(launch, other) for launch in early for other in others):
        mib = sum(launch.circumstances.storage_mib_per_step or 0.0 for launch in early) / len(early)
        words = (
            f"{first} read {mib:.3g} MiB a step from storage, {others[0].label} found most of it in memory"
        )
        yield Reason(words, math.inf if first == "A" else -math.inf)


def _reads_clearly_more(launch: Launch, other: Launch) -> bool:
    mib, others_mib = launch.circumstances.storage_mib_per_step, other.circumstances.storage_mib_per_step
    if mib is None or others_mib is None or launch.log_step_s is None:
        return False
    return mib > _READS_TIMES * others_mib and mib > _READS_MIB_S * math.exp(launch.log_step_s)
