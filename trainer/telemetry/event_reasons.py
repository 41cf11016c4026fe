"""What holds a GPU's clocks down, from the bits of NVML's mask to words.

Bits are told by number: the driver's header, its bindings and its tools have renamed them more than once
(`nvmlClocksThrottleReason…` became `nvmlClocksEventReason…`), and their values have stayed.
"""

from collections.abc import Mapping

REASONS: Mapping[int, str] = {
    0x1: "idle",
    0x2: "application_clocks",
    0x4: "power_cap",
    0x8: "hw_slowdown",
    0x10: "sync_boost",
    0x20: "thermal_sw",
    0x40: "thermal_hw",
    0x80: "power_brake",
    0x100: "display",
    0x200: "board_limit",
    0x400: "reliability",
}
"""Bit → word; nvml.h, `nvmlClocksEventReasons`."""
_KNOWN_BITS_MAX = 1 << 32


def reasons_of(mask: int) -> list[str] | None:
    """Return the reasons in a mask, lowest bit first; None for a mask that cannot be one.

    A bit without a name here is told by its number.
    """
    if not 0 <= mask < _KNOWN_BITS_MAX:
        return None
    bits = [1 << place for place in range(mask.bit_length()) if mask >> place & 1]
    return [REASONS.get(bit, f"bit {bit:#x}") for bit in bits]
