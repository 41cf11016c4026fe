"""Reads `settings.json` with the standard library alone.

Apart from `ipc.run_files`, which needs msgspec: this is read at the start of every Python process of a trial.
"""

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from perftui.ipc.run_variables import TRIAL
from perftui.ipc.settings import SettingValue


@dataclass(frozen=True)
class Applied:
    """What the probe is to do in this process; the fields are those of `AppliedSettings`."""

    settings: dict[str, SettingValue]
    trial: bool = False
    scratch: str | None = None
    seed: int | None = None
    words: dict[str, list[str]] = field(default_factory=dict[str, list[str]])


def read_applied(state: str | None) -> Applied:
    """Return what stands in a run's state folder; nothing to apply where there is none.

    Raises:
        ValueError: the file is there and cannot be read as settings.
    """
    if not state:
        return Applied(settings={})
    try:
        text = Path(state, "settings.json").read_text(encoding="utf-8")
    except FileNotFoundError:
        return Applied(settings={})
    read = json.loads(text)
    if not isinstance(read, dict):
        raise TypeError(f"{state}/settings.json holds no object")
    document = cast("dict[str, Any]", read)
    seed = document.get("seed")
    scratch = document.get("scratch")
    return Applied(
        settings=dict(document.get("settings") or {}),
        trial=bool(document.get("trial")) or os.environ.get(TRIAL) == "1",
        scratch=str(scratch) if scratch else None,
        seed=int(seed) if seed is not None else None,
        words=dict(document.get("words") or {}),
    )
