"""Where a project says how its script takes arguments: `perftui.toml`, or `[tool.perftui]` in pyproject.toml.

Looked for in the folder that the command is started in and in those above it; the nearest file that says
something counts. What it says goes onto a command line, so a file of another user is passed over, unless the
folder that the command is started in is that user's too.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import msgspec

from perftui.ipc.argument_templates import ArgumentTemplate, checked_template, parse_mapping
from perftui.ipc.errors import UsageError
from perftui.ipc.owned_files import regular_file

_OWN = "perftui.toml"
_SHARED = "pyproject.toml"


def mapped_arguments(cwd: Path, options: Sequence[str] = ()) -> dict[str, ArgumentTemplate]:
    """Return the mappings of the project's file, with those of `--map` over them.

    Raises:
        UsageError: the file cannot be read or says something that is no mapping, or an option does.
    """
    return {**_of_project(cwd), **dict(parse_mapping(option) for option in options)}


def _of_project(cwd: Path) -> dict[str, ArgumentTemplate]:
    trusted = {os.getuid(), 0, cwd.stat().st_uid}
    for folder in (cwd, *cwd.parents):
        for path, keys in (
            (folder / _OWN, ("arguments",)),
            (folder / _SHARED, ("tool", "perftui", "arguments")),
        ):
            table = _table(path, keys, trusted)
            if table is not None:
                return {name: _template(path, name, value) for name, value in table.items()}
    return {}


def _table(path: Path, keys: tuple[str, ...], trusted: set[int]) -> dict[str, Any] | None:
    """Return a table of a file; None where there is none, or a stranger wrote it."""
    try:
        found: Any = _read(path, trusted)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    for key in keys:
        if not isinstance(found, dict):
            raise UsageError(f"{path}: [{'.'.join(keys)}] is no table")
        found = cast("dict[str, Any]", found).get(key)
        if found is None:
            return None
    if not isinstance(found, dict):
        raise UsageError(f"{path}: [{'.'.join(keys)}] is no table")
    return cast("dict[str, Any]", found)


def _read(path: Path, trusted: set[int]) -> Any:  # noqa: ANN401 (what a file holds is anything)
    with regular_file(path) as stream:
        if os.fstat(stream.fileno()).st_uid not in trusted:
            return {}
        text = stream.read()
    try:
        return msgspec.toml.decode(text)
    except msgspec.DecodeError as error:
        raise UsageError(f"{path}: {error}") from error
    except ImportError as error:  # Python 3.10 without tomli
        raise UsageError(f"{path} can be read once tomli is installed: pip install tomli") from error


def _template(path: Path, name: str, value: object) -> ArgumentTemplate:
    """Read `name = "--option {value}"`, or `name = { template = "…", semantics = "…" }`."""
    known = {"template": value, "semantics": "changes-training"}
    if isinstance(value, dict):
        known |= cast("dict[str, object]", value)
        if set(known) != {"template", "semantics"} or "template" not in value:
            raise UsageError(f"{path}: arguments.{name} takes template and semantics")
    template, semantics = known["template"], known["semantics"]
    if not isinstance(template, str) or not isinstance(semantics, str):
        raise UsageError(f"{path}: arguments.{name} is {value!r}; expected text such as '--option {{value}}'")
    try:
        return checked_template(name, template, semantics)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None
