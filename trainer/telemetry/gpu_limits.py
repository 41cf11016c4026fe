"""What no GPU exceeds: a driver that reports more, of whichever maker, reports nonsense."""

MEMORY_MAX_MIB = 16 * 1024 * 1024
POWER_MAX_W = 10_000
CLOCK_MAX_MHZ = 10_000
HEAT_C = (-50, 150)
"""Least and most."""
ENERGY_MAX_J = 1e13
"""Ten kilowatts for thirty years."""
TRAFFIC_MAX_MIB_S = 1e7
LINK_WIDTH_MAX = 32
COUNT_MAX = 10**9
"""Of errors and of remapped rows."""
