"""The generated part of docs/settings.md.

`python -m perftui.ipc.settings_document docs/settings.md` writes it anew.
"""

import sys
from pathlib import Path

from perftui.ipc.prerequisites import PREREQUISITES
from perftui.ipc.settings_table import GROUPS, TABLE

BEGIN = "<!-- from ipc/settings_table.py: begin -->"
END = "<!-- from ipc/settings_table.py: end -->"


def generated() -> str:
    """Return what stands between the two marks."""
    lines = [
        "| name | values | semantics | applied to | what | needs |",
        "|---|---|---|---|---|---|",
        *(
            f"| `{row.name}` | {row.values()} | {row.semantics} | {row.place} | {row.what} "
            f"| {', '.join(_spaced(key) for key in row.needs) or '—'} |"
            for row in TABLE
        ),
        "| `env.NAME` | text | neutral; NVIDIA_TF32_OVERRIDE: numeric | environment "
        "| an environment variable of the training | — |",
        "| `arg.NAME` | text | as mapped | command line | an argument of the script | a mapping |",
        "",
        "What a setting needs, and what is said where it is missing:",
        "",
        *(
            f"* **{_spaced(key)}**: {condition.reason}"
            + ("" if condition.needed else " (it can be applied, and brings nothing)")
            for key, condition in PREREQUISITES.items()
        ),
        "",
        "Of each of these groups one at most may be on; two together are refused:",
        "",
        *(f"* {' and '.join(f'`{name}`' for name in group.members)}: {group.reason}" for group in GROUPS),
        "* `compile.mode=off` and any other `compile.*`: nothing is compiled",
        "* a `compile.mode` other than `default` and a `compile.backend` other than `inductor`: modes are "
        "inductor's",
        "",
        "A training that ran without it may fail with:",
        "",
        *(f"* `{row.name}`: {row.can_crash}" for row in TABLE if row.can_crash),
    ]
    return "\n".join(lines)


def _spaced(key: str) -> str:
    return key.replace("_", " ")


def replaced(text: str) -> str:
    """Return a document with its generated part made anew.

    Raises:
        ValueError: the marks are not there.
    """
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"no {BEGIN} … {END}")
    return f"{before}{BEGIN}\n{generated()}\n{END}{after}"


if __name__ == "__main__":
    document = Path(sys.argv[1])
    document.write_text(replaced(document.read_text(encoding="utf-8")), encoding="utf-8")
