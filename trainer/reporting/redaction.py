"""Takes out of a report what looks like a secret: keys on command lines end up in summaries. Pure.

What is found in the command (the value of an option or variable with a telling name, the password of an
address, a token of a known form) is taken out of every string of the report, errors and findings included;
short values, which may be words like any other, out of the command alone.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, cast

import msgspec

from perftui.ipc.ledger_records import Comparison
from perftui.trainer.reporting.run_report import RunReport

MASK = "[masked]"
_SHORTEST_EVERYWHERE = 8
_TELLING = re.compile(
    r"(?i)(^|[-_.])(token|secret|password|passwd|passphrase|pwd|credentials?|auth|apikey|"
    r"(api|access|private|secret|wandb|account)[-_]?key)$"
)
_NO_SECRET = re.compile(r"[\d.]*|-.*|(?i:true|false|none|null)")
"""Numbers, switches and the next option: `--bos-token 1` hides nothing."""
_ADDRESS = re.compile(r"(?<=://)[^/\s:@]*:([^/\s@]+)(?=@)")
_KNOWN_FORM = re.compile(
    r"\b(?:hf_[A-Za-z0-9]{16,}|gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{20,}|sk-[\w-]{16,}|glpat-[\w-]{16,}|"
    r"xox[abprs]-[\w-]{10,}|A[KS]IA[A-Z0-9]{16}|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*)"
)


def redacted(report: RunReport) -> RunReport:
    """Return the report without what looks like a secret, and with how many of them there were."""
    found: set[str] = set()
    for command in (report.summary.command, *(line.command for line in report.ledger)):
        found |= set(secrets_of(command))
    summary = msgspec.structs.replace(report.summary, command=_masked(report.summary.command))
    ledger = [_masked_line(line) for line in report.ledger]
    built: dict[str, Any] = msgspec.to_builtins(
        msgspec.structs.replace(report, summary=summary, ledger=ledger)
    )
    found |= set(_in_strings(built))
    long = sorted((each for each in found if len(each) >= _SHORTEST_EVERYWHERE), key=len, reverse=True)
    if long:  # the longest first: one may be part of another
        built = _without(built, re.compile("|".join(map(re.escape, long))))
    return msgspec.convert({**built, "masked": len(found)}, RunReport)


def _masked_line(line: Comparison) -> Comparison:
    return msgspec.structs.replace(line, command=_masked(line.command))


def _masked(command: Sequence[str]) -> list[str]:
    secrets = sorted(secrets_of(command), key=len, reverse=True)
    pattern = re.compile("|".join(map(re.escape, secrets)) if secrets else r"(?!)")
    return [pattern.sub(MASK, word) for word in command]


def secrets_of(command: Sequence[str]) -> Iterator[str]:
    """Yield what looks like a secret in an argument vector, also within a word that is a command itself."""
    words = [part for word in command for part in word.split()]
    for at, word in enumerate(words):
        name, equals, value = word.partition("=")
        if not _TELLING.search(name.lstrip("-")):
            continue
        if not equals and name.startswith("-") and at + 1 < len(words):
            value = words[at + 1]
        if _is_secret(value):
            yield value


def _is_secret(value: str) -> bool:
    return value != MASK and not _NO_SECRET.fullmatch(value)


def _in_strings(value: object, name: str = "") -> Iterator[str]:
    """Yield secrets of a known form, and the values of settings with telling names."""
    if isinstance(value, str):
        if _TELLING.search(name) and _is_secret(value):
            yield value
        yield from _KNOWN_FORM.findall(value)
        yield from (found[1] for found in _ADDRESS.finditer(value))
    elif isinstance(value, dict):
        for key, inner in cast("dict[str, object]", value).items():
            yield from _in_strings(inner, key)
    elif isinstance(value, list):
        for inner in cast("list[object]", value):
            yield from _in_strings(inner)


def _without(value: Any, secrets: "re.Pattern[str]") -> Any:  # noqa: ANN401  # whatever JSON holds
    if isinstance(value, str):
        return secrets.sub(MASK, value)
    if isinstance(value, dict):
        return {key: _without(inner, secrets) for key, inner in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_without(inner, secrets) for inner in value]
    return value
