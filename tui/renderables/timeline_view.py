"""Which part of a timeline is in view, where its cursor stands, and how both move."""

from dataclasses import dataclass, replace

from perftui.tui.renderables.timeline_index import Span, TimelineIndex

_ZOOM = 2
_SCROLLED_SHARE = 8
"""A scroll moves by this part of the view."""


@dataclass(frozen=True)
class TimeView:
    """A stretch of the timeline and a cursor in it; times in ns from the window's start."""

    start_ns: int
    span_ns: int
    line: int = 0
    time_ns: int = 0
    """The cursor."""
    at: int | None = None
    """The span that was gone to, where the cursor's cell has several."""


def first_view(index: TimelineIndex) -> TimeView:
    """Show the first step, or all where no steps were recorded."""
    everything = TimeView(0, index.window_ns)
    view = step_view(index, everything, 1) if index.steps else everything
    first = index.touching(0, view.start_ns, view.start_ns + view.span_ns) if index.lines else range(0)
    if not first:
        return view
    start = max(view.start_ns, index.lines[0].starts[first[0]])
    return replace(view, time_ns=start, at=first[0])


def edges(view: TimeView, cells: int) -> list[int]:
    """Return the times at which cells begin, and the end of the last one."""
    return [view.start_ns + view.span_ns * cell // cells for cell in range(cells + 1)]


def cell_of(view: TimeView, time_ns: int, cells: int) -> int:
    """Return the cell of a time in view."""
    cell = (time_ns - view.start_ns) * cells // view.span_ns
    return max(0, min(cells - 1, cell))


def zoomed(index: TimelineIndex, view: TimeView, steps: int, cells: int) -> TimeView:
    """Zoom in (`steps` above 0) or out; the cursor keeps its place on the screen."""
    factor = _ZOOM ** abs(steps)
    span = view.span_ns // factor if steps > 0 else view.span_ns * factor
    span = max(min(cells, index.window_ns), min(index.window_ns, span))
    start = view.time_ns - (view.time_ns - view.start_ns) * span // view.span_ns
    return _placed(index, replace(view, start_ns=start, span_ns=span))


def scrolled(index: TimelineIndex, view: TimeView, steps: int, cells: int) -> TimeView:
    """Scroll; the cursor keeps its place on the screen, and goes on alone at the window's ends."""
    by = steps * max(1, view.span_ns // _SCROLLED_SHARE, view.span_ns // cells)
    return _placed(index, replace(view, start_ns=view.start_ns + by, time_ns=view.time_ns + by, at=None))


def nudged(index: TimelineIndex, view: TimeView, steps: int, cells: int) -> TimeView:
    """Move the cursor by cells."""
    by = steps * max(1, view.span_ns // cells)
    return _placed(index, replace(view, time_ns=view.time_ns + by, at=None), follow=True)


def at_time(index: TimelineIndex, view: TimeView, time_ns: int) -> TimeView:
    """Put the cursor at a time in view."""
    return _placed(index, replace(view, time_ns=time_ns, at=None))


def to_end(index: TimelineIndex, view: TimeView, end: int) -> TimeView:
    """Go to the window's beginning or (`end` above 0) to its end."""
    return _placed(index, replace(view, time_ns=index.window_ns if end > 0 else 0, at=None), follow=True)


def whole(index: TimelineIndex, view: TimeView) -> TimeView:
    """Show all of the window."""
    return replace(view, start_ns=0, span_ns=index.window_ns)


def to_line(index: TimelineIndex, view: TimeView, lines: int) -> TimeView:
    """Move the cursor by lines."""
    line = max(0, min(len(index.lines) - 1, view.line + lines))
    return replace(view, line=line, at=None)


def step_view(index: TimelineIndex, view: TimeView, step: int) -> TimeView:
    """Show the step before or after (`step` -1, 1) the one at the cursor, all of it and nothing else."""
    starts = [round(each.start_us * 1000) for each in index.steps]
    if step > 0:
        found = [at for at, start in enumerate(starts) if start > view.time_ns]
        fresh = view.span_ns == index.window_ns and view.time_ns == 0
        at = 0 if fresh else found[0] if found else len(starts) - 1
    else:
        at = max((at for at, start in enumerate(starts) if start < view.time_ns), default=0)
    span = max(1, round(index.steps[at].duration_us * 1000))
    shown = replace(view, start_ns=starts[at], span_ns=span, time_ns=starts[at], at=None)
    return _placed(index, shown)


def span_step(index: TimelineIndex, view: TimeView, step: int) -> TimeView:
    """Go to the span before or after the one at the cursor, on the same line."""
    if not index.lines:
        return view
    track = index.lines[view.line]
    here = view.at
    if here is None:
        here = index.covering(view.line, view.time_ns)
    if here is None:
        behind = index.touching(view.line, 0, view.time_ns + 1)
        here = len(behind) - 1 if step > 0 else len(behind)
    at = max(0, min(len(track.starts) - 1, here + step))
    return to_span(index, view, Span(view.line, at))


def to_span(index: TimelineIndex, view: TimeView, span: Span) -> TimeView:
    """Put the cursor on a span; scroll only when it is out of view."""
    start = index.lines[span.line].starts[span.at]
    return _placed(index, replace(view, line=span.line, time_ns=start, at=span.at), follow=True)


def to_time(index: TimelineIndex, view: TimeView, time_ns: int, around_ns: int) -> TimeView:
    """Show a time with so much of its surroundings, and put the cursor on it."""
    span = max(1, min(index.window_ns, around_ns))
    return _placed(index, replace(view, start_ns=time_ns - span // 4, span_ns=span, time_ns=time_ns, at=None))


def _placed(index: TimelineIndex, view: TimeView, *, follow: bool = False) -> TimeView:
    """Keep the cursor in the window and the view in the window; with `follow`, the cursor in the view."""
    window = index.window_ns
    time = max(0, min(window - 1, view.time_ns))
    span = max(1, min(window, view.span_ns))
    start = view.start_ns
    if follow and not start <= time < start + span:
        start = time - span // 2
    start = max(0, min(window - span, start))
    if not follow:
        time = max(start, min(start + span - 1, time))
    return replace(view, start_ns=start, span_ns=span, time_ns=time)
