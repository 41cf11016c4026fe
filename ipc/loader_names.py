"""Names of settings of loaders: `loader.num_workers`, and `loader[1].num_workers` of the second one. Pure."""

import re

_NAME = re.compile(r"loader(?:\[(\d+)\])?\.(\w+)")


def join_name(index: int, argument: str) -> str:
    """Return the setting's name: the first loader goes without a number."""
    return f"loader.{argument}" if index == 0 else f"loader[{index}].{argument}"


def split_name(name: str) -> tuple[int, str] | None:
    """Return (index of the loader, its argument) for a `loader…` setting; None for others."""
    found = _NAME.fullmatch(name)
    return (int(found[1] or 0), found[2]) if found else None
