"""The settings that a relaunch may alter: one table, typed, validated, diffable.

How each is applied lives with the probe and the launcher; this is what both, the command line and the
screen agree on.
"""

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from perftui.ipc.errors import UsageError

SettingValue: TypeAlias = bool | int | str | None
Settings: TypeAlias = dict[str, SettingValue]
Semantics: TypeAlias = Literal["neutral", "numeric", "changes-training"]


@dataclass(frozen=True)
class Setting:
    """One row of the table."""

    name: str
    kind: Literal["int", "bool", "choice", "text"]
    semantics: Semantics
    what: str
    """One phrase for a person."""
    minimum: int = 0
    maximum: int = 0
    choices: tuple[str, ...] = ()


_WORKERS_MAX = 512

TABLE: tuple[Setting, ...] = (
    Setting("loader.num_workers", "int", "neutral", "loader worker processes", 0, _WORKERS_MAX),
    Setting("loader.pin_memory", "bool", "neutral", "batches copied to page-locked memory"),
    Setting("loader.persistent_workers", "bool", "neutral", "workers kept over epochs"),
    Setting("loader.prefetch_factor", "int", "neutral", "batches each worker loads ahead", 1, 64),
    Setting(
        "loader.multiprocessing_context",
        "choice",
        "neutral",
        "how workers are started",
        choices=("fork", "spawn", "forkserver"),
    ),
)
"""`loader.X` speaks of the first DataLoader that the script builds, `loader[1].X` of the second."""

ENVIRONMENT_ALLOWED = re.compile(
    r"(OMP|MKL|OPENBLAS|NUMEXPR)_NUM_THREADS|OPENCV_FOR_THREADS_NUM|KMP_AFFINITY|MALLOC_CONF"
    r"|PYTORCH_(CUDA_)?ALLOC_CONF|NCCL_[A-Z0-9_]+|GLOO_SOCKET_IFNAME|TORCH_NCCL_[A-Z0-9_]+"
    r"|CUDA_DEVICE_MAX_CONNECTIONS|NVIDIA_TF32_OVERRIDE|TOKENIZERS_PARALLELISM"
)
"""Environment variables that `env.NAME` may set: ones that tune, none that load code or name secrets."""

_INDEXED = re.compile(r"loader\[(\d+)\]\.(\w+)")
_BY_NAME = {row.name: row for row in TABLE}
_TRUE = frozenset({"true", "on", "yes", "1"})
_FALSE = frozenset({"false", "off", "no", "0"})


def setting(name: str) -> Setting:
    """Return the row for `name`, with `loader[k].x` folded to `loader.x`.

    Raises:
        UsageError: the table has no such setting; the message lists near names.
    """
    indexed = _INDEXED.fullmatch(name)
    base = f"loader.{indexed[2]}" if indexed else name
    if base in _BY_NAME:
        return _BY_NAME[base]
    if name.startswith("env."):
        if ENVIRONMENT_ALLOWED.fullmatch(name[4:]):
            return Setting(name, "text", "neutral", f"environment variable {name[4:]}")
        raise UsageError(f"{name}: this environment variable is not on the list that perftui sets")
    known = ", ".join(sorted(_BY_NAME))
    raise UsageError(f"unknown setting {name!r}; known: {known}, env.NAME")


def parse_assignment(text: str) -> tuple[str, SettingValue]:
    """Parse `name=value` from a command line into a checked pair.

    Raises:
        UsageError: no `=`, an unknown name, or a value of the wrong type or out of range.
    """
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageError(f"{text!r}: a setting is written name=value, as in loader.num_workers=4")
    row = setting(name.strip())
    return name.strip(), _parse_value(row, value.strip())


def _parse_value(row: Setting, value: str) -> SettingValue:
    if row.kind == "int":
        return _parse_int(row, value)
    if row.kind == "bool":
        if value.lower() in _TRUE:
            return True
        if value.lower() in _FALSE:
            return False
        raise UsageError(f"{row.name}={value!r}: expected true or false")
    if row.kind == "choice" and value not in row.choices:
        raise UsageError(f"{row.name}={value!r}: expected one of {', '.join(row.choices)}")
    return value


def _parse_int(row: Setting, value: str) -> int:
    try:
        number = int(value)
    except ValueError:
        raise UsageError(f"{row.name}={value!r}: expected a whole number") from None
    if not row.minimum <= number <= row.maximum:
        raise UsageError(f"{row.name}={number}: expected {row.minimum} to {row.maximum}")
    return number


def parse_assignments(texts: list[str]) -> Settings:
    """Parse every `--set`; the same name twice is an error."""
    settings: Settings = {}
    for text in texts:
        name, value = parse_assignment(text)
        if name in settings:
            raise UsageError(f"{name} is set twice")
        settings[name] = value
    return settings


def environment_of(settings: Settings) -> dict[str, str]:
    """Return the environment variables among `settings`."""
    return {name[4:]: str(value) for name, value in settings.items() if name.startswith("env.")}


def format_value(value: SettingValue) -> str:
    """Return a value as it is written on a command line."""
    return str(value).lower() if isinstance(value, bool) or value is None else str(value)


def semantics_of(settings: Settings) -> Semantics:
    """Return the strongest semantics among `settings`; neutral when there are none."""
    kinds = {setting(name).semantics for name in settings}
    if "changes-training" in kinds:
        return "changes-training"
    return "numeric" if "numeric" in kinds else "neutral"
