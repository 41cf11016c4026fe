"""Script arguments that the user maps once: how `arg.NAME` is written on the training's command line.

Tokens in, tokens out: nothing is ever run through a shell.
"""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from perftui.ipc.errors import UsageError

_VALUE = "{value}"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_SEMANTICS: tuple[Literal["neutral", "numeric", "changes-training"], ...] = (
    "neutral",
    "numeric",
    "changes-training",
)


@dataclass(frozen=True)
class ArgumentTemplate:
    """How one argument is written, with `{value}` where its value goes."""

    template: str
    semantics: Literal["neutral", "numeric", "changes-training"] = "changes-training"


def parse_mapping(text: str) -> tuple[str, ArgumentTemplate]:
    """Parse `NAME=TEMPLATE` or `NAME:SEMANTICS=TEMPLATE`, as `--map` takes it.

    Raises:
        UsageError: no `=`, or as `checked_template`.
    """
    name, equals, template = text.partition("=")
    if not equals:
        raise UsageError(f"--map {text!r}: expected NAME=TEMPLATE, as in batch_size='--batch-size {_VALUE}'")
    name, _, semantics = name.partition(":")
    return name, checked_template(name, template, semantics or "changes-training")


def checked_template(name: str, template: str, semantics: str) -> ArgumentTemplate:
    """Return a template that can be applied.

    Raises:
        UsageError: a name that is none, no `{value}` or no option before it, or unknown semantics.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r}: the name of an argument has letters, digits, - and _")
    found = next((known for known in _SEMANTICS if known == semantics), None)
    if found is None:
        raise UsageError(f"{name}: semantics {semantics!r}; expected one of {', '.join(_SEMANTICS)}")
    words = _words(name, template)
    at = [place for place, word in enumerate(words) if _VALUE in word]
    if len(at) != 1 or words[0] == _VALUE or len(words) > 2 or at[0] != len(words) - 1:
        raise UsageError(
            f"{name}: {template!r} is no template; expected an option and {_VALUE}, as in "
            f"'--batch-size {_VALUE}', '--batch-size={_VALUE}' or 'train.batch_size={_VALUE}'"
        )
    return ArgumentTemplate(template, found)


def _words(name: str, template: str) -> list[str]:
    try:
        return shlex.split(template)
    except ValueError as error:
        raise UsageError(f"{name}: {template!r} is no template: {error}") from None


def tokens_of(template: ArgumentTemplate, value: str) -> list[str]:
    """Return the words of the command line that give an argument its value."""
    return [word.replace(_VALUE, value) for word in shlex.split(template.template)]


def with_argument(command: Sequence[str], template: ArgumentTemplate, value: str) -> list[str]:
    """Return a command with an argument set: in the place where it stands last, else at the end.

    Both `--option value` and `--option=value` are found, whichever way the template writes it.
    """
    tokens = tokens_of(template, value)
    option = _option(template)
    changed = list(command)
    for place in range(len(command) - 1, 0, -1):
        word = command[place]
        if word == option and len(tokens) > 1:
            changed[place : place + 2] = tokens
            return changed
        if word.startswith(f"{option}="):
            changed[place] = f"{option}={value}"
            return changed
        if word == option and option.startswith("-") and place + 1 < len(command):
            changed[place : place + 2] = [option, value]
            return changed
    return changed + tokens


def _option(template: ArgumentTemplate) -> str:
    """Return what stands before the value: `--batch-size`, whether a blank or `=` follows."""
    first = shlex.split(template.template)[0]
    return first.partition(_VALUE)[0].removesuffix("=")
