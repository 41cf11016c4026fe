"""Names and ids of runs, made from what is launched."""

import re
import secrets
import time
from pathlib import PurePath

_NAME_MAX = 24


def name_of(command: list[str]) -> str:
    """Return a short name for a command: the module after -m, else the script, else the program."""
    for place, word in enumerate(command[:-1]):
        if word == "-m" and PurePath(command[max(0, place - 1)]).name.startswith("python"):
            return command[place + 1].rpartition(".")[2] or command[place + 1]
    for word in command[1:]:
        if word.endswith(".py"):
            return PurePath(word).stem
    return PurePath(command[0]).name if command else "run"


def new_run_id(name: str) -> str:
    """Return an id like `train-20261130-101502-3f2a`: readable, sortable by eye, its own for each launch."""
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:_NAME_MAX].strip("-") or "run"
    return f"{plain}-{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"
