"""Where a person's configuration is, and what it says."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from perftui.ipc.errors import Refused, UsageError
from perftui.tui.config.reading import read_config
from perftui.tui.config.settled import DEFAULT, Config

VARIABLE = "PERFTUI_CONFIG"
_BYTES_MAX = 1_000_000


@dataclass(frozen=True)
class ConfigPlace:
    """The file that counts, and whether somebody has named it."""

    path: Path
    named: bool


def config_place(option: Path | None, environ: Mapping[str, str]) -> ConfigPlace:
    """Return the file that counts: `--config`, else `PERFTUI_CONFIG`, else the one of this user.

    A relative `XDG_CONFIG_HOME` does not count, as the XDG base directory specification has it.
    """
    if option is not None:
        return ConfigPlace(option, named=True)
    if environ.get(VARIABLE):
        return ConfigPlace(Path(environ[VARIABLE]), named=True)
    base = Path(environ.get("XDG_CONFIG_HOME", ""))
    root = base if base.is_absolute() else _home(environ) / ".config"
    return ConfigPlace(root / "perftui" / "config.toml", named=False)


def _home(environ: Mapping[str, str]) -> Path:
    try:
        return Path(environ.get("HOME") or Path.home())
    except RuntimeError:  # nobody knows this user, as in containers: there is nothing to read
        return Path("/")


def load_config(option: Path | None = None) -> Config:
    """Return what the file that counts says, and what is wrong with it.

    Raises:
        UsageError: `--config` names a file that cannot be read.
    """
    place = config_place(option, os.environ)
    try:
        return read_config(_text(place.path), str(place.path))
    except FileNotFoundError:
        if not place.named:
            return DEFAULT
        why = f"{place.path} is not there; `perftui config` prints what may stand in it"
    except (OSError, ValueError) as error:
        why = f"{place.path} cannot be read: {getattr(error, 'strerror', None) or error}"
    if option is not None:
        raise UsageError(f"--config {why}")
    return Config(mistakes=(why,))


def _text(path: Path) -> str:
    with path.open("rb") as file:
        data = file.read(_BYTES_MAX + 1)
    if len(data) > _BYTES_MAX:
        raise ValueError(f"it has more than {_BYTES_MAX:,} bytes")
    return data.decode()


def write_new_config(path: Path, text: str) -> None:
    """Write a file that was not there before.

    Raises:
        Refused: it is there, or its folder cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise Refused(f"{path} is there already, and is not replaced; move it away first") from None
    except OSError as error:
        raise Refused(f"{path} cannot be written: {error.strerror}; name another by --config") from error
