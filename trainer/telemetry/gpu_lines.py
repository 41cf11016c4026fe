"""What the hub and its GPU sampler say to each other: one JSON document a line over the sampler's pipes."""

from typing import TypeAlias

import msgspec

from perftui.trainer.telemetry.gpu_readings import FastReading, RareReading, SlowReading


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """To the sampler: the GPUs to read, by UUID, from now on."""

    uuids: list[str]


class Sweep(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="sweep"):
    """From the sampler, once a period: all wanted GPUs, at the rates that were due.

    The first one is empty: the library answers. Later ones are empty while no GPU is wanted.
    """

    backend: str
    """Which library answers, with the driver's version where it tells."""
    at_s: float
    """`time.monotonic()` at the end of the sweep; the same clock in all processes of a host."""
    cpu_s: float
    """CPU time of the sampler's process so far."""
    period_s: float
    """Between two fast readings, as in force."""
    sweep_ms: float | None = None
    """95th percentile of the time that one fast reading of all GPUs takes; None before there are some."""
    fast: list[FastReading] = []
    slow: list[SlowReading] = []
    rare: list[RareReading] = []


class Stuck(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="stuck"):
    """From the sampler, while one call into the driver does not come back."""

    call: str


class Unavailable(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="unavailable"):
    """From the sampler, as its last word: there is nothing to read here, and why."""

    reason: str


FromSampler: TypeAlias = Sweep | Stuck | Unavailable

_encoder = msgspec.json.Encoder()
_from_sampler: msgspec.json.Decoder[FromSampler] = msgspec.json.Decoder(FromSampler)
_wanted: msgspec.json.Decoder[Wanted] = msgspec.json.Decoder(Wanted)


def line_of(message: Wanted | FromSampler) -> bytes:
    """Return the line for a message, with its end."""
    return _encoder.encode(message) + b"\n"


def read_from_sampler(line: bytes) -> FromSampler | None:
    """Return what the sampler said; None for a line that is no message."""
    try:
        return _from_sampler.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return None


def read_wanted(line: bytes) -> Wanted | None:
    """Return what the hub wants; None for a line that is no message."""
    try:
        return _wanted.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return None
