"""How often the GPUs are read: three rates that keep their proportions, and what may be asked for."""

from dataclasses import dataclass

from perftui.ipc.errors import UsageError

OFF_VARIABLE = "PERFTUI_NO_NVML"
"""Set to 1, it keeps the GPU libraries untouched: no sampler, no figures, and a note that says so."""
INTERVAL_VARIABLE = "PERFTUI_GPU_INTERVAL"
"""Seconds between two fast readings, where the command line does not say."""
INTERVAL_S = 0.25
INTERVAL_MIN_S = 0.2
"""GPM counters are refreshed every 100 ms: two samples must lie further apart than that (nvml.h)."""
INTERVAL_MAX_S = 60.0
_SLOW = 4
_RARE = 120


@dataclass(frozen=True)
class GpuRates:
    """Periods in seconds."""

    fast_s: float = INTERVAL_S
    """Activity and the counters of throttled time."""
    slow_s: float = INTERVAL_S * _SLOW
    """Memory, power, energy, clocks, temperature, reasons, processes, XIDs."""
    rare_s: float = INTERVAL_S * _RARE
    """Limits, link, ECC, row remapping, MIG, name."""


def rates_of(interval_s: float | None) -> GpuRates:
    """Return the rates for an interval between fast readings; None: the default."""
    fast_s = INTERVAL_S if interval_s is None else interval_s
    return GpuRates(fast_s, fast_s * _SLOW, fast_s * _RARE)


def check_interval(interval_s: float, asked_by: str) -> float:
    """Return the interval.

    Raises:
        UsageError: it is out of bounds; `asked_by` names who asked.
    """
    if not INTERVAL_MIN_S <= interval_s <= INTERVAL_MAX_S:
        raise UsageError(
            f"{asked_by} {interval_s:g}: expected {INTERVAL_MIN_S:g} to {INTERVAL_MAX_S:g} seconds"
        )
    return interval_s


def interval_of(text: str | None) -> float | None:
    """Return the interval that `PERFTUI_GPU_INTERVAL` asks for; None where it is not set.

    Raises:
        UsageError: it is no number, or out of bounds.
    """
    if not text:
        return None
    try:
        interval_s = float(text)
    except ValueError:
        raise UsageError(f"{INTERVAL_VARIABLE}={text}: expected a number of seconds") from None
    return check_interval(interval_s, INTERVAL_VARIABLE)


def interval_or_default(text: str | None) -> float:
    """Return the interval that the variable asks for, or the default where it asks for none that can be."""
    try:
        asked_s = interval_of(text)
    except UsageError:
        return INTERVAL_S
    return INTERVAL_S if asked_s is None else asked_s


def is_switched_off(text: str | None) -> bool:
    """Whether `PERFTUI_NO_NVML` switches the readings off."""
    return (text or "").lower() in {"1", "true", "yes", "on"}
