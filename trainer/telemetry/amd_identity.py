"""Which AMD GPU a rank's UUID means: torch, HIP and amdsmi write the same identity in different ways.

amdsmi has a device UUID and the chip's serial number; HIP gives torch the serial's 16 hexadecimal digits as
the 16 bytes of a UUID, so that torch prints the codes of those letters.
"""

from collections.abc import Iterable

_SERIAL_DIGITS = 16


def digits_of(name: str) -> str:
    """Return a UUID's or serial's bare hexadecimal digits in lower case, without prefix or hyphens."""
    lower = name.strip().lower().removeprefix("gpu-").removeprefix("0x")
    return lower.replace("-", "")


def names_of(device_uuid: str | None, serial: str | None) -> frozenset[str]:
    """Return all forms, as bare digits, in which a rank may name this GPU."""
    names: set[str] = set()
    if device_uuid:
        names.add(digits_of(device_uuid))
    if serial:
        digits = digits_of(serial).rjust(_SERIAL_DIGITS, "0")
        names |= {digits, digits.encode().hex()}
    return frozenset(names)


def place_of(uuid: str, known: Iterable[frozenset[str]]) -> int | None:
    """Return which of the GPUs is meant; None when none is, or more than one."""
    digits = digits_of(uuid)
    forms = {digits, digits.rjust(_SERIAL_DIGITS, "0")}
    places = [place for place, names in enumerate(known) if forms & names]
    return places[0] if len(places) == 1 else None
