"""What an expanded row tells: the whole name, shapes and callers of an operator, reasons of a check."""

from collections.abc import Sequence

from perftui.ipc.trace_report import IdleGap, KernelFigures, OperatorFigures, SyncFigures
from perftui.tui import format as fmt
from perftui.tui.renderables.gauge import gauge
from perftui.tui.renderables.lines import Line, Run, line, wrap
from perftui.tui.renderables.trace_classes import gap_words
from perftui.tui.renderables.trace_names import fold, short_name

_INDENT = 3
_LABEL = 16
_LISTED = 40


def whole_name(name: str, width: int) -> list[Line]:
    """Return a name in full, over as many lines as it needs."""
    return [_indented(part) for part in fold(fmt.visible(name), max(8, width - _INDENT), "value")]


def said(label: str, text: str, width: int) -> list[Line]:
    """Return a labelled sentence."""
    lines = wrap(fmt.visible(text), max(10, width - _INDENT - _LABEL))
    return [
        _indented((Run(f"{label if at == 0 else '':<{_LABEL}}", "dim"), *part))
        for at, part in enumerate(lines)
    ]


def operator_details(row: OperatorFigures, width: int) -> Sequence[Line]:
    """Return the whole name, shapes with their times, and callers."""
    return [
        *whole_name(row.name, width),
        *_breakdown(
            "by input shapes",
            [(shape.shapes, shape.count, shape.self_us, shape.device_us) for shape in row.shapes],
            width,
        ),
        *_breakdown(
            "by caller",
            [(each.caller, each.count, each.total_us, each.device_us) for each in row.callers],
            width,
        ),
        *([] if row.shapes else [_note("no shapes in this window: the preset shapes records them")]),
        *([] if row.callers else [_note("called by nothing that was recorded")]),
    ]


def kernel_details(row: KernelFigures, width: int) -> Sequence[Line]:
    """Return the whole name and what goes with it."""
    tensor = {None: "its name does not tell", True: "yes, by its name", False: "no, by its name"}
    facts = (
        f"{fmt.count(row.count)} calls, {fmt.microseconds(row.total_us)} in all, "
        f"{fmt.microseconds(row.mean_us)} each, at most {fmt.microseconds(row.max_us)}"
    )
    alone = f"{fmt.microseconds(row.self_us)} with the device to itself"
    return [
        *whole_name(row.name, width),
        *said("class", f"{row.kind}; tensor cores: {tensor[row.tensor_cores]}", width),
        *said("time", f"{facts}; {alone}", width),
    ]


def gap_details(row: IdleGap, width: int) -> Sequence[Line]:
    """Return what both ends of a gap were."""
    return [
        *said("waited for", gap_words(row.kind), width),
        *said("the host", row.host or "nothing was recorded", width),
        *said("ended by", row.before or "the window's end", width),
    ]


def sync_details(row: SyncFigures, width: int) -> Sequence[Line]:
    """Return call, operator and place in full."""
    where = row.where or "not recorded: the preset stacks tells the line"
    return [
        *said("call", row.call, width),
        *said("operator", row.operator or fmt.NOTHING, width),
        *said("where", where, width),
    ]


def _breakdown(
    heading: str, rows: Sequence[tuple[str, int, float, float | None]], width: int
) -> Sequence[Line]:
    if not rows:
        return []
    on_device = any(device for _, _, _, device in rows)
    values = [(device or 0.0) if on_device else host for _, _, host, device in rows]
    whole = sum(values) or 1.0
    which = "  GPU time" if on_device else "  CPU time"
    lines = [_indented(line(Run(heading, "heading"), Run(which, "dim")))]
    for (name, count, host, device), value in list(zip(rows, values, strict=True))[:_LISTED]:
        time = fmt.microseconds(device if on_device else host)
        figures = f"{fmt.count_in(8, count):>8} × {time:>10}  "
        room = max(10, width - _INDENT - 2 - len(figures) - 8)
        text = short_name(name, room)
        lines.append(_indented(line(Run("  "), *gauge(value / whole, 6), Run(figures, "dim"), Run(text))))
    if len(rows) > _LISTED:
        lines.append(_note(f"and {len(rows) - _LISTED:,} more; an export has them all"))
    return lines


def _note(text: str) -> Line:
    return _indented(line(Run(text, "dim")))


def _indented(part: Line) -> Line:
    return (Run(" │ ", "frame"), *part)
