"""What the hub and its GPU sampler say to each other: one JSON document a line over the sampler's pipes."""

from typing import TypeAlias

import msgspec

from perftui.ipc.view import GpuView

FIGURES = (
    "name",
    "utilisation_share",
    "memory_used_mib",
    "memory_total_mib",
    "power_w",
    "power_limit_w",
    "temperature_c",
    "sm_clock_mhz",
)
"""The figures of a `GpuView`: each is a value, or has its reason in `missing`."""


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """To the sampler: the GPUs to read, by UUID, from now on."""

    uuids: list[str]


class Sweep(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="sweep"):
    """From the sampler, once a period: all wanted GPUs. The first one is empty: the library answers."""

    monotonic_s: float
    """`time.monotonic()` at the end of the sweep; the same clock in all processes of a host."""
    sweep_ms: float
    gpus: list[GpuView]
    """`ranks` and `age_s` are filled in by the hub."""


class Unavailable(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="unavailable"):
    """From the sampler, as its last word: there is nothing to read here, and why."""

    reason: str


FromSampler: TypeAlias = Sweep | Unavailable

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
    except (msgspec.DecodeError, msgspec.ValidationError):
        return None


def read_wanted(line: bytes) -> Wanted | None:
    """Return what the hub wants; None for a line that is no message."""
    try:
        return _wanted.decode(line)
    except (msgspec.DecodeError, msgspec.ValidationError):
        return None
