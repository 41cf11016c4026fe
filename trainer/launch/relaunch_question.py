"""What is said before a relaunch: the difference, what it may do to the training, what is lost. Pure."""

from perftui.ipc.settings import Settings, format_value, semantics_of
from perftui.ipc.view import Header

_EFFECT = {
    "neutral": "same samples, same arithmetic",
    "numeric": "the same training with other rounding",
    "changes-training": "this alters the training itself, not only its speed",
}


def question_lines(header: Header, changes: Settings, *, trial: bool) -> list[str]:
    """Return the lines that end in a question."""
    lines = [
        f"{name}: {_before(header, name)} -> {format_value(value)}" for name, value in sorted(changes.items())
    ]
    lines.append(_EFFECT[semantics_of(changes)])
    lost = f"{header.step} steps" if header.step else "its start-up"
    lines.append(f"{header.run_id} is stopped after {header.elapsed_s:.0f} s and begins again ({lost} lost)")
    if trial:
        lines.append("before that, two to four short trials measure the change; they do not touch your files")
    else:
        lines.append("no trial: the switch is not measured, the verdict stays provisional")
    return lines


def _before(header: Header, name: str) -> str:
    return format_value(header.settings[name]) if name in header.settings else "as the script has it"
