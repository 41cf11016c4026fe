"""What is kept of chained launches: one JSON file that later calls go on with."""

import json
import platform
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from perftui.ipc.ledger_records import Launch

Neighbour: TypeAlias = Literal["none", "steady", "bursts"]


class ChainLaunch(msgspec.Struct, frozen=True, kw_only=True):
    """One launch of a chain; its neighbours in the chain ran just before and after it."""

    chain: str
    place: int
    neighbour: Neighbour
    """What ran on the same cores: nothing, a process that keeps a core busy, one that does so in bursts."""
    launch: Launch


class Campaign(msgspec.Struct, kw_only=True):
    """All launches, how they came about, and what is said of them."""

    injected: float
    """How much more work A does than B, as a factor; 1: none, all settings are identical."""
    threads: int
    lane_cores: int
    calls: list[dict[str, str | int | float]] = []
    """Of each call that added launches: date, command, lanes, minutes."""
    versions: dict[str, str] = {}
    host: dict[str, str | int] = {}
    summary: dict[str, object] = {}
    launches: list[ChainLaunch] = []


def read_campaign(path: Path) -> Campaign | None:
    """Return what earlier calls left; None when there is no such file."""
    return msgspec.json.decode(path.read_bytes(), type=Campaign) if path.exists() else None


def write_campaign(path: Path, campaign: Campaign) -> None:
    """Write all, one launch a line, whole or not at all."""
    head = msgspec.to_builtins(msgspec.structs.replace(campaign, launches=[]))
    del head["launches"]
    rows = ",\n".join("  " + msgspec.json.encode(each).decode() for each in campaign.launches)
    text = json.dumps(head, indent=1).removesuffix("\n}") + f',\n "launches": [\n{rows}\n ]\n}}\n'
    part = path.with_name(f".{path.name}.part")
    part.write_text(text)
    part.replace(path)


def versions() -> dict[str, str]:
    """Return what ran."""
    import torch

    return {
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "kernel": platform.release(),
    }


def command_line(module: str, arguments: Sequence[str]) -> str:
    """Return the command as a result keeps it: files by their names alone, wherever they lay."""
    return shlex.join(["python", "-m", module, *(Path(word).name or word for word in arguments)])
