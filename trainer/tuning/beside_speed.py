"""What a change does beside speed: memory, energy, and how long its longer start takes to pay. Pure."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from perftui.ipc.ledger_records import Launch

_MEMORY_MIB = 64.0
_MEMORY_SHARE = 0.02
_ENERGY_SHARE = 0.02
_START_S = 3.0
"""Starts differ by seconds anyway."""


@dataclass(frozen=True)
class BesideSpeed:
    """Figures of B against A; None where they were not measured, or there is nothing to say."""

    memory_change_mib: float | None
    energy_change: float | None
    payback_steps: int | None
    notes: list[str]


def beside_speed(launches: Sequence[Launch], per: Literal["step", "sample"], *, faster: bool) -> BesideSpeed:
    """Compare launches of A and B in all but their speed.

    Args:
        launches: measured ones of both settings.
        per: what energy is counted by.
        faster: whether B is; only then its longer start can pay.
    """
    memory = _pair(launches, lambda launch: launch.circumstances.gpu_memory_mib)
    energy = _pair(launches, lambda launch: _energy(launch, per))
    payback = _payback(launches) if faster and per == "step" else None
    change = energy[1] / energy[0] - 1 if energy and energy[0] > 0 else None
    return BesideSpeed(
        memory_change_mib=memory[1] - memory[0] if memory else None,
        energy_change=change,
        payback_steps=payback,
        notes=[
            *_memory_words(memory),
            *_energy_words(energy, change, per),
            *_payback_words(launches, payback),
        ],
    )


def _pair(launches: Sequence[Launch], value: Callable[[Launch], float | None]) -> tuple[float, float] | None:
    """Return the means of A and of B over the launches that tell; None when one setting's do not."""
    means: list[float] = []
    for label in ("A", "B"):
        known = [found for each in launches if each.label == label and (found := value(each)) is not None]
        if not known:
            return None
        means.append(sum(known) / len(known))
    return means[0], means[1]


def _energy(launch: Launch, per: Literal["step", "sample"]) -> float | None:
    energy = launch.circumstances.energy_j_per_step
    if energy is None or per == "step":
        return energy
    return energy / launch.samples_per_step if launch.samples_per_step else None


def _payback(launches: Sequence[Launch]) -> int | None:
    """Return after how many steps what the start takes longer is made up for."""
    times = _pair(launches, lambda launch: launch.step_ms)
    longer = _longer_start_s(launches)
    if longer is None or times is None or times[1] >= times[0]:
        return None
    return math.ceil(1000 * longer / (times[0] - times[1]))


def _longer_start_s(launches: Sequence[Launch]) -> float | None:
    """Return by how much B starts later: in compilations where they are known, else to its first step."""
    compiled = _pair(launches, lambda launch: launch.circumstances.compile_s)
    if compiled and compiled[1] - compiled[0] > 0:
        return compiled[1] - compiled[0]
    started = _pair(launches, lambda launch: launch.startup_s)
    return started[1] - started[0] if started and started[1] - started[0] > _START_S else None


def _memory_words(memory: tuple[float, float] | None) -> Iterator[str]:
    if memory is None:
        return
    a, b = memory
    if abs(b - a) <= max(_MEMORY_MIB, _MEMORY_SHARE * a):
        yield f"GPU memory: {a:.0f} MiB at most, with the change as well"
    else:
        yield f"GPU memory: {a:.0f} MiB at most before, {b:.0f} MiB after ({b - a:+.0f} MiB)"


def _energy_words(energy: tuple[float, float] | None, change: float | None, per: str) -> Iterator[str]:
    if energy is None or change is None:
        return
    a, b = energy
    if abs(change) <= _ENERGY_SHARE:
        yield f"energy: {a:.3g} J a {per}, with the change as well"
    else:
        yield f"energy: {a:.3g} J a {per} before, {b:.3g} J after ({change:+.0%})"


def _payback_words(launches: Sequence[Launch], payback: int | None) -> Iterator[str]:
    longer = _longer_start_s(launches)
    if payback is not None and longer is not None:
        yield f"the start takes {longer:.0f} s longer, which {payback} steps make up for"
