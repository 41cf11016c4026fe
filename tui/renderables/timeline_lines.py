"""The timeline of one rank: axis, steps, a line for each depth of each lane, legend, the cursor's span."""

from collections.abc import Sequence

from perftui.ipc.trace_report import StepSpan
from perftui.tui import format as fmt
from perftui.tui.renderables.lines import BLANK, Line, Run, clip, fit, join_fitting, line
from perftui.tui.renderables.span_details import caller_of
from perftui.tui.renderables.timeline_cells import cells_of, drawn, name_wide_spans
from perftui.tui.renderables.timeline_index import Span, TimelineIndex, TrackLine
from perftui.tui.renderables.timeline_view import TimeView, cell_of, edges
from perftui.tui.renderables.trace_classes import CLASSES, look_of
from perftui.tui.renderables.trace_names import short_name

_FIXED_LINES = 4
"""Axis, steps, legend, span."""
_TICK_MIN = 4
_CALLER, _CALLER_FROM = 24, 100
"""Cells for what launched a kernel, and the width from which there is room for it."""
_UNITS = ((1_000_000_000, "s"), (1_000_000, "ms"), (1000, "µs"), (1, "ns"))


def label_width(width: int) -> int:
    """Return the room of the lanes' names at the left."""
    return 12 if width < 60 else 18 if width < 110 else 26


def tracks_room(height: int) -> int:
    """Return how many lines of lanes fit."""
    return max(1, height - _FIXED_LINES)


def timeline_lines(
    index: TimelineIndex, view: TimeView, top: int, width: int, height: int, *, textured: bool
) -> list[Line]:
    """Draw the lines from `top` on that fit."""
    label = label_width(width)
    cells = max(1, width - label)
    room = tracks_room(height)
    shown = range(top, min(len(index.lines), top + room))
    cursor = cell_of(view, view.time_ns, cells)
    body: list[Line] = []
    present: set[str] = set()
    for number in shown:
        track = index.lines[number]
        cell_list = cells_of(track, view, cells)
        present.update(cell.kind for cell in cell_list)
        runs = drawn(cell_list, textured=textured)
        name_wide_spans(runs, index, number, view, textured=textured)
        here = number == view.line
        if here:
            runs[cursor] = Run(runs[cursor].text, "cursor")
        first = number == top or index.lines[number - 1].lane != track.lane
        body.append((*_label(track, label, first=first, here=here), *_merged(runs)))
    body += [BLANK] * (room - len(body))
    return [
        (*fit(line(Run("  time", "heading")), label), *_axis(view, cells, cursor)),
        (*fit(line(Run("  steps", "dim")), label), *_steps(index.steps, view, cells)),
        *body,
        _legend(present, index, len(shown), width, textured=textured),
        cursor_line(index, view, cells, width),
    ]


def _label(track: TrackLine, width: int, *, first: bool, here: bool) -> Line:
    name = short_name(track.title, width - 3) if first else f"  depth {track.depth}"
    role = "value" if here else "text" if first else "dim"
    return fit(line(Run("▶ " if here else "  ", "value"), Run(name, role)), width)


def _merged(runs: Sequence[Run]) -> Line:
    """Join neighbours that look the same: fewer pieces to paint."""
    merged: list[Run] = []
    for run in runs:
        if merged and merged[-1][1:] == run[1:]:
            merged[-1] = merged[-1]._replace(text=merged[-1].text + run.text)
        else:
            merged.append(run)
    return tuple(merged)


def tick_ns(span_ns: int, cells: int) -> int:
    """Return the distance of two marks on the axis: 1, 2 or 5 times a power of ten."""
    least = max(1, span_ns * 14 // max(_TICK_MIN, cells))
    size = 1
    while size * 10 <= least:
        size *= 10
    return next(size * factor for factor in (1, 2, 5, 10) if size * factor >= least)


def time_text(time_ns: int, exact_ns: int = 1) -> str:
    """Return a time in the largest unit in which multiples of `exact_ns` are whole."""
    size, unit = next((size, unit) for size, unit in _UNITS if exact_ns % size == 0)
    return f"{time_ns // size:,} {unit}"


def _axis(view: TimeView, cells: int, cursor: int) -> Line:
    tick = tick_ns(view.span_ns, cells)
    text = [" "] * cells
    at = -(-view.start_ns // tick) * tick
    free = 0
    while at < view.start_ns + view.span_ns:
        cell = cell_of(view, at, cells)
        words = "│" + time_text(at, tick)
        if cell >= free and cell + len(words) <= cells:
            text[cell : cell + len(words)] = words
            free = cell + len(words) + 1
        at += tick
    text[cursor] = "▼"
    before, after = "".join(text[:cursor]), "".join(text[cursor + 1 :])
    return line(Run(before, "dim"), Run("▼", "value"), Run(after, "dim"))


def _steps(steps: Sequence[StepSpan], view: TimeView, cells: int) -> Line:
    if not steps:
        return line(Run("none recorded", "dim"))
    text = [" "] * cells
    for step in steps:
        start, end = round(step.start_us * 1000), round((step.start_us + step.duration_us) * 1000)
        if end <= view.start_ns or start >= view.start_ns + view.span_ns:
            continue
        first, last = cell_of(view, max(start, view.start_ns), cells), cell_of(view, end - 1, cells)
        words = f"│step {step.step:,}" if start >= view.start_ns else f" step {step.step:,}"
        text[first : last + 1] = f"{words[: last + 1 - first]:<{last + 1 - first}}"
    return line(Run("".join(text), "dim"))


def _legend(present: set[str], index: TimelineIndex, shown: int, width: int, *, textured: bool) -> Line:
    entries: list[Line] = [
        line(Run(f"{look.letter}=" if textured else "■ ", look.role), Run(name, "dim"))
        for name, look in CLASSES.items()
        if name in present
    ]
    hidden = len(index.lines) - shown
    more = [line(Run(f"↑↓ {hidden} more lines", "dim"))] if hidden > 0 else []
    deeper = [line(Run(f"{index.undrawn:,} deeper spans not drawn", "dim"))] if index.undrawn else []
    short = [line(Run(f"{index.left_out:,} shortest spans left out", "dim"))] if index.left_out else []
    return join_fitting([line("  "), *more, *entries, *deeper, *short], line("  "), width)


def span_at_cursor(index: TimelineIndex, view: TimeView, cells: int) -> tuple[Span, int] | None:
    """Return the span at the cursor, and how many others lie in its cell."""
    if not index.lines:
        return None
    cell = cell_of(view, view.time_ns, cells)
    bounds = edges(view, cells)
    inside = index.touching(view.line, bounds[cell], max(bounds[cell] + 1, bounds[cell + 1]))
    if not inside:
        return None
    at = view.at if view.at is not None and view.at in inside else index.covering(view.line, view.time_ns)
    return Span(view.line, at if at is not None else inside[0]), len(inside) - 1


def cursor_line(index: TimelineIndex, view: TimeView, cells: int, width: int) -> Line:
    """Tell the span at the cursor in a line."""
    where = f"▶ at {fmt.microseconds(view.time_ns / 1000)}  "
    found = span_at_cursor(index, view, cells)
    if found is None:
        return clip(line(Run(where, "value"), Run("nothing here", "dim")), width)
    span, others = found
    track = index.lines[span.line]
    duration = track.ends[span.at] - track.starts[span.at]
    kind = index.classes[track.names[span.at]]
    facts = line(
        Run(f"  {fmt.visible(kind)}", look_of(kind).role),
        Run("  from ", "dim"),
        fmt.microseconds(track.starts[span.at] / 1000),
        Run(" for ", "dim"),
        Run(fmt.microseconds(duration / 1000), "value"),
        Run(f"  + {others:,} in this cell" if others else "", "dim"),
    )
    caller = caller_of(index, span)
    if caller is not None and width >= _CALLER_FROM:
        facts = (*facts, Run(f"  by {short_name(caller, _CALLER)}", "note"))
    room = max(12, width - sum(len(run.text) for run in facts) - 2)
    name = short_name(index.names[track.names[span.at]], room)
    return clip(line(Run("▶ ", "value"), Run(name, "value"), *facts), width)
