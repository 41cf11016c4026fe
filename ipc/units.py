"""Sizes that all rooms count in."""

MIB = 1 << 20
"""Bytes."""
