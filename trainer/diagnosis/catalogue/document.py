"""Writes the catalogue and the thresholds as Markdown: the generated parts of docs/diagnosis.md.

`python -m perftui.trainer.diagnosis.catalogue.document docs/diagnosis.md` puts them between their marks.
"""

import ast
import inspect
import sys
from collections.abc import Iterable
from pathlib import Path

from perftui.trainer.diagnosis import policy
from perftui.trainer.diagnosis.catalogue import ENTRIES
from perftui.trainer.diagnosis.catalogue.entry import Entry
from perftui.trainer.diagnosis.registry import CAUSES, CODES

PARTS = ("catalogue", "thresholds")


def catalogue() -> str:
    """Return one section for each code, in the order of the entries."""
    families = dict.fromkeys(entry.code.partition(".")[0] for entry in ENTRIES)
    order = sorted(ENTRIES, key=lambda entry: [*families].index(entry.code.partition(".")[0]))
    return "\n".join(_section(entry) for entry in order)


def _section(entry: Entry) -> str:
    causes = [code for code in CAUSES.get(entry.code, ()) if code in CODES]
    rows = [
        ("seen", entry.seen),
        ("signals", "; ".join(entry.signals)),
        ("why", entry.why),
        ("what to do", entry.do),
        ("the remedy is", entry.semantics),
        ("against it", entry.against),
        ("hangs under", ", ".join(f"`{code}`" for code in causes)),
        ("reports", "; ".join(f"[{each.what}]({each.url})" for each in entry.reports)),
        ("demo", f"`perftui demo {entry.demo}`" if entry.demo else ""),
    ]
    table = "\n".join(f"| {name} | {text} |" for name, text in rows if text)
    return f"### {entry.code}\n\n**{entry.title}**\n\n| | |\n|---|---|\n{table}\n"


def thresholds() -> str:
    """Return every threshold with its value and what the policy file says of it."""
    rows = [f"| `{name}` | {value} | {text} |" for name, value, text in described()]
    return "\n".join(["| threshold | value | unit, meaning and source |", "|---|---|---|", *rows, ""])


def described() -> Iterable[tuple[str, object, str]]:
    """Return (name, value, docstring on one line) of each threshold, in the order of the fields."""
    for kind in reversed(policy.Policy.__mro__[:-1]):
        yield from _described(kind)


def _described(kind: type) -> Iterable[tuple[str, object, str]]:
    tree = ast.parse(inspect.getsource(kind))
    body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else []
    for node, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            told = after.value if isinstance(after, ast.Expr) else None
            text = told.value if isinstance(told, ast.Constant) else ""
            name = node.target.id
            yield name, getattr(policy.POLICY, name), " ".join(str(text).split())


def renewed(text: str) -> str:
    """Return a document with its generated parts renewed.

    Raises:
        ValueError: a mark is missing.
    """
    for part, made in zip(PARTS, (catalogue(), thresholds()), strict=True):
        begin, end = f"<!-- {part}: generated -->\n", f"<!-- end of {part} -->"
        if begin not in text or end not in text:
            raise ValueError(f"no mark {begin.strip()!r} or {end!r} in the document")
        before, rest = text.split(begin, 1)
        text = f"{before}{begin}\n{made}\n{end}{rest.split(end, 1)[1]}"
    return text


def main() -> None:
    """Renew the document named on the command line."""
    path = Path(sys.argv[1])
    path.write_text(renewed(path.read_text()))


if __name__ == "__main__":
    main()
