"""torchrun's words in a command: whether it is one, and how many ranks it starts on each host. Pure."""

import re
from collections.abc import Sequence
from pathlib import PurePath

from perftui.ipc.errors import Refused
from perftui.ipc.python_name import is_python

_MODULES = frozenset({"torch.distributed.run", "torch.distributed.launch"})
_OPTION = "--nproc-per-node"
_SHORT = re.compile(r"--?nproc[-_]per[-_]node(=.*)?")


def starts_torchrun(command: Sequence[str]) -> bool:
    """Tell whether a command is torchrun, or Python with one of torch's launcher modules."""
    return _after_launcher(command) is not None


def _after_launcher(command: Sequence[str]) -> int | None:
    """Return where the launcher's own options begin."""
    for place, word in enumerate(command):
        name = PurePath(word).name
        if name == "torchrun":
            return place + 1
        if is_python(name):
            return _after_module(command, place + 1)
        if name.endswith(".py"):
            return None
    return None


def _after_module(command: Sequence[str], place: int) -> int | None:
    while place < len(command) and command[place].startswith("-"):
        if command[place] == "-m":
            known = place + 1 < len(command) and command[place + 1] in _MODULES
            return place + 2 if known else None
        place += 2 if command[place] in ("-W", "-X") else 1
    if place < len(command) and PurePath(command[place]).name == "torchrun":
        return place + 1
    return None


def with_nproc(command: Sequence[str], ranks: int) -> list[str]:
    """Return the command with so many ranks on each host.

    Raises:
        Refused: it is none of torchrun's.
    """
    begin = _after_launcher(command)
    if begin is None:
        raise Refused(
            f"torchrun.nproc_per_node={ranks} cannot be applied: {' '.join(command[:3])} is none of "
            "torchrun, python -m torch.distributed.run and python -m torch.distributed.launch"
        )
    changed = list(command)
    for place in range(begin, len(command)):
        word = command[place]
        if not word.startswith("-") and word.endswith(".py"):
            break
        if not _SHORT.fullmatch(word):
            continue
        if "=" in word:
            changed[place] = f"{word.partition('=')[0]}={ranks}"
        else:
            changed[place + 1 : place + 2] = [str(ranks)]
        return changed
    changed[begin:begin] = [f"{_OPTION}={ranks}"]
    return changed


def torchrun_option(command: Sequence[str], name: str) -> str | None:
    """Return what torchrun's own option is set to, as in `master-addr`; None: not given, or not torchrun."""
    begin = _after_launcher(command)
    if begin is None:
        return None
    for place in range(begin, len(command)):
        word, equals, value = command[place].partition("=")
        if not word.startswith("-"):
            if word.endswith(".py"):
                return None
            continue
        if word.lstrip("-").replace("_", "-") == name:
            return value if equals else (command[place + 1] if place + 1 < len(command) else None)
    return None
