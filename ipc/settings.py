"""Settings as they are written, checked and combined; the rows are in `settings_table`.

How each is applied lives with the probe and the launcher; this is what both, the command line and the
screen agree on. Standard library alone.
"""

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TypeAlias

from perftui.ipc.argument_templates import ArgumentTemplate
from perftui.ipc.errors import Refused, UsageError
from perftui.ipc.loader_names import split_name
from perftui.ipc.settings_table import (
    GROUPS,
    TABLE,
    Semantics,
    Setting,
    Settings,
    SettingValue,
    is_on,
)

__all__ = [
    "COMPILE_DISABLED_BY",
    "ENVIRONMENT_ALLOWED",
    "GROUPS",
    "NO_ARGUMENTS",
    "TABLE",
    "Arguments",
    "Semantics",
    "Setting",
    "SettingValue",
    "Settings",
    "check_together",
    "check_values",
    "combined",
    "environment_of",
    "format_value",
    "parse_assignment",
    "parse_assignments",
    "semantics_of",
    "setting",
]

Arguments: TypeAlias = Mapping[str, ArgumentTemplate]
"""Script arguments that the user has mapped, by name: `arg.NAME`."""
NO_ARGUMENTS: Arguments = MappingProxyType({})

ENVIRONMENT_ALLOWED = re.compile(
    r"(OMP|MKL|OPENBLAS|NUMEXPR)_NUM_THREADS|OPENCV_FOR_THREADS_NUM|KMP_AFFINITY|MALLOC_CONF"
    r"|PYTORCH_(CUDA_)?ALLOC_CONF|NCCL_[A-Z0-9_]+|GLOO_SOCKET_IFNAME|TORCH_NCCL_[A-Z0-9_]+"
    r"|CUDA_DEVICE_MAX_CONNECTIONS|NVIDIA_TF32_OVERRIDE|TOKENIZERS_PARALLELISM"
)
"""Environment variables that `env.NAME` may set: ones that tune, none that name secrets."""
_LOADS_CODE = re.compile(r".*(PLUGIN|_FILE|_PATH|_DIR|_LIB)(_.*|$)")
"""Of these, the ones that make a library load another, or write a file: NCCL_NET_PLUGIN, NCCL_DEBUG_FILE."""
_TF32_OVERRIDE = "env.NVIDIA_TF32_OVERRIDE"
"""The one of them that alters how products are rounded, over what the script says."""
_TEXT_MAX = 4096

COMPILE_DISABLED_BY = ("TORCH_COMPILE_DISABLE", "TORCHDYNAMO_DISABLE")
"""Newer and older torch call it differently."""
_BACKEND = re.compile(r"[a-z][a-z0-9_]*")
_COMPILE_MODE = "compile.mode"
_BY_NAME = {row.name: row for row in TABLE}
_TRUE = frozenset({"true", "on", "yes", "1"})
_FALSE = frozenset({"false", "off", "no", "0"})


def setting(name: str, arguments: Arguments = NO_ARGUMENTS) -> Setting:
    """Return the row for `name`, with `loader[k].x` folded to `loader.x`.

    Args:
        name: as it is written.
        arguments: the script's arguments that are mapped.

    Raises:
        UsageError: the table has no such setting; the message lists near names.
    """
    of_loader = split_name(name)
    base = f"loader.{of_loader[1]}" if of_loader else name
    if base in _BY_NAME:
        return _BY_NAME[base]
    if name.startswith("env."):
        if ENVIRONMENT_ALLOWED.fullmatch(name[4:]) and not _LOADS_CODE.fullmatch(name[4:]):
            semantics: Semantics = "numeric" if name == _TF32_OVERRIDE else "neutral"
            return Setting(name, "text", semantics, f"environment variable {name[4:]}", place="environment")
        raise UsageError(f"{name}: this environment variable is not on the list that perftui sets")
    if name.startswith("arg."):
        return _argument(name, arguments)
    known = ", ".join(sorted(_BY_NAME))
    raise UsageError(f"unknown setting {name!r}{_near(name)}; known: {known}, env.NAME, arg.NAME")


def _near(name: str) -> str:
    """Return a question after the setting that may be meant: its last part alone, or one misspelt."""
    from difflib import get_close_matches  # every process of a trial loads this module, and few err

    parts = [known for known in sorted(_BY_NAME) if known.rpartition(".")[2] == name.lower()]
    likely = parts or get_close_matches(name.lower(), _BY_NAME, n=1)
    if not likely and re.fullmatch(r"[A-Z][A-Z0-9_]+", name) and ENVIRONMENT_ALLOWED.fullmatch(name):
        likely = [f"env.{name}"]
    return f": did you mean {' or '.join(likely)}" if likely else ""


def _argument(name: str, arguments: Arguments) -> Setting:
    template = arguments.get(name[4:])
    if template is None:
        mapped = f"mapped: {', '.join(sorted(arguments))}" if arguments else "none is mapped"
        raise UsageError(
            f"{name}: perftui does not know how the script takes it ({mapped}); say so once, by --map "
            f"{name[4:] or 'NAME'}='--option {{value}}' or under [tool.perftui.arguments] in pyproject.toml"
        )
    return Setting(
        name, "text", template.semantics, f"the script's argument {template.template}", place="command line"
    )


def parse_assignment(text: str, arguments: Arguments = NO_ARGUMENTS) -> tuple[str, SettingValue]:
    """Parse `name=value` from a command line into a checked pair.

    Raises:
        UsageError: no `=`, an unknown name, or a value of the wrong type or out of range.
    """
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageError(f"{text!r}: a setting is written name=value, as in loader.num_workers=4")
    row = setting(name.strip(), arguments)
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
    if row.name == "compile.backend" and not _BACKEND.fullmatch(value):
        raise UsageError(f"{row.name}={value!r}: expected the name of a backend, as in inductor")
    if row.name.startswith("arg.") and not value:
        raise UsageError(f"{row.name}={value!r}: expected a value")
    if row.name.startswith("env.") and "/" in value:
        raise UsageError(f"{row.name}={value!r}: a value that is a path is not one that tunes")
    if len(value) > _TEXT_MAX or not value.isprintable():
        raise UsageError(f"{row.name}={value[:80]!r}: expected printable text of {_TEXT_MAX} letters at most")
    return value


def check_values(settings: Settings, arguments: Arguments = NO_ARGUMENTS) -> None:
    """Check settings that come as data as they are checked on a command line.

    Raises:
        UsageError: an unknown name, or a value of the wrong type or out of range.
    """
    for name, value in settings.items():
        row = setting(name, arguments)
        parsed = _parse_value(row, format_value(value))
        if value is None or (row.kind != "text" and (type(parsed) is not type(value) or parsed != value)):
            raise UsageError(f"{name}={value!r}: expected {row.values()}")


def _parse_int(row: Setting, value: str) -> int:
    try:
        number = int(value)
    except ValueError:
        raise UsageError(f"{row.name}={value!r}: expected a whole number") from None
    if not row.minimum <= number <= row.maximum:
        raise UsageError(f"{row.name}={number}: expected {row.minimum} to {row.maximum}")
    return number


def parse_assignments(texts: Iterable[str], arguments: Arguments = NO_ARGUMENTS) -> Settings:
    """Parse every `--set`; the same name twice is an error.

    Raises:
        UsageError: as `parse_assignment`.
        Refused: as `check_together`.
    """
    settings: Settings = {}
    for text in texts:
        name, value = parse_assignment(text, arguments)
        if name in settings:
            raise UsageError(f"{name} is set twice")
        settings[name] = value
    check_together(settings)
    return settings


def check_together(settings: Settings) -> None:
    """Refuse settings that exclude each other.

    Raises:
        Refused: with both names and the reason.
    """
    reason = _exclusion(settings)
    if reason is not None:
        raise Refused(reason)


def _exclusion(settings: Settings) -> str | None:
    for group in GROUPS:
        on = [name for name in group.members if is_on(settings.get(name))]
        if len(on) > 1:
            told = " and ".join(f"{name}={format_value(settings[name])}" for name in on)
            return f"{told} exclude each other: {group.reason}"
    of_compile = [name for name in settings if name.startswith("compile.") and name != _COMPILE_MODE]
    mode = settings.get(_COMPILE_MODE)
    if mode == "off" and of_compile:
        return f"{_COMPILE_MODE}=off and {of_compile[0]} exclude each other: nothing is compiled"
    backend = settings.get("compile.backend", "inductor")
    if mode not in (None, "off", "default") and backend != "inductor":
        return (
            f"{_COMPILE_MODE}={mode} and compile.backend={backend} exclude each other: modes are inductor's"
        )
    return None


def combined(before: Settings, change: Settings) -> Settings:
    """Return `before` with a change; what the change excludes is left out, its slot is taken.

    Raises:
        Refused: the change excludes itself.
    """
    check_together(change)
    kept = {
        name: value
        for name, value in before.items()
        if name in change or _exclusion({name: value, **change}) is None
    }
    return {**kept, **change}


def environment_of(settings: Settings) -> dict[str, str]:
    """Return the environment variables that `settings` ask for."""
    variables = {name[4:]: str(value) for name, value in settings.items() if name.startswith("env.")}
    blocking = settings.get("debug.launch_blocking")
    if blocking is not None:
        variables["CUDA_LAUNCH_BLOCKING"] = str(int(bool(blocking)))
    if settings.get(_COMPILE_MODE) == "off":
        variables |= dict.fromkeys(COMPILE_DISABLED_BY, "1")
    return variables


def format_value(value: SettingValue) -> str:
    """Return a value as it is written on a command line."""
    return str(value).lower() if isinstance(value, bool) or value is None else str(value)


def semantics_of(settings: Settings, arguments: Arguments = NO_ARGUMENTS) -> Semantics:
    """Return the strongest semantics among `settings`; neutral when there are none."""
    kinds = {setting(name, arguments).semantics for name in settings}
    if "changes-training" in kinds:
        return "changes-training"
    return "numeric" if "numeric" in kinds else "neutral"
