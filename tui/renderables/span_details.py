"""Everything about one span of a timeline: its whole name, its times, and the host's doing behind it."""

from collections.abc import Sequence

from perftui.ipc.trace_report import StepSpan
from perftui.tui import format as fmt
from perftui.tui.renderables.lines import BLANK, Line, Run, line, wrap
from perftui.tui.renderables.timeline_index import Span, TimelineIndex
from perftui.tui.renderables.trace_names import fold, short_name

_LABEL = 10


def span_details(index: TimelineIndex, span: Span, width: int) -> list[Line]:
    """Return all that is known of a span."""
    track = index.lines[span.line]
    start, end, name = track.starts[span.at], track.ends[span.at], track.names[span.at]
    facts = (
        ("class", fmt.visible(index.classes[name])),
        ("lane", f"{fmt.visible(track.title)}, depth {track.depth}"),
        ("start", f"{fmt.microseconds(start / 1000)} from the window's start ({start:,} ns)"),
        ("duration", f"{fmt.microseconds((end - start) / 1000)} ({end - start:,} ns)"),
        ("step", _step_of(index.steps, start)),
    )
    lines = [*fold(fmt.visible(index.names[name]), width, "value"), BLANK]
    for word, text in facts:
        lines += [
            (Run(f"{word if at == 0 else '':<{_LABEL}}", "dim"), *part)
            for at, part in enumerate(wrap(text, max(8, width - _LABEL)))
        ]
    behind = _launch(index, span, width) if track.kind == "stream" else _callers(index, span, width)
    return [*lines, BLANK, *behind]


def caller_of(index: TimelineIndex, span: Span) -> str | None:
    """Return the name of what launched a span of a stream; None: the timeline does not tell."""
    callers = index.lines[span.line].callers
    caller = callers[span.at] if callers else None
    known = caller is not None and 0 <= caller < len(index.names)
    return index.names[caller] if caller is not None and known else None


def _step_of(steps: Sequence[StepSpan], start_ns: int) -> str:
    if not steps:
        return "no steps were recorded"
    begun = [each for each in steps if each.start_us * 1000 <= start_ns]
    found = begun[-1] if begun else None
    if found is None or start_ns >= (found.start_us + found.duration_us) * 1000:
        return "outside of the recorded steps"
    return f"{found.step:,}, {fmt.microseconds(start_ns / 1000 - found.start_us)} after its start"


def _callers(index: TimelineIndex, span: Span, width: int) -> list[Line]:
    outer = index.around(span)
    if not outer:
        return [line(Run("called by nothing that was recorded", "dim"))]
    return [line(Run("called by", "heading")), *(_named(index, each, width) for each in outer)]


def _launch(index: TimelineIndex, span: Span, width: int) -> list[Line]:
    """Say who launched it and when, and what that was called by."""
    track = index.lines[span.line]
    caller = caller_of(index, span)
    launched = track.launched_ns[span.at] if track.launched_ns else None
    if caller is None and launched is None:
        return [line(Run("what launched it is not in the timeline", "dim"))]
    ahead = ""
    if launched is not None:
        ahead = f", {fmt.microseconds((track.starts[span.at] - launched) / 1000)} before it began"
    by = short_name(caller, max(12, width - 16 - len(ahead))) if caller is not None else "a call"
    heading = line(Run("launched by ", "heading"), Run(by, "value"), Run(ahead, "dim"))
    chain = _chain(index, caller, launched) if launched is not None else []
    return [heading, *(_named(index, each, width) for each in chain)]


def _chain(index: TimelineIndex, caller: str | None, launched_ns: int) -> list[Span]:
    """Return the spans that the launch was in, of the thread that has the caller among them."""
    threads = sorted({track.lane for track in index.lines if track.kind != "stream"})
    for lane in threads:
        inner = index.innermost(lane, launched_ns)
        spans = [inner, *index.around(inner)] if inner is not None else []
        names = [index.names[index.lines[each.line].names[each.at]] for each in spans]
        if caller in names:
            return spans
    return []


def _named(index: TimelineIndex, span: Span, width: int) -> Line:
    track = index.lines[span.line]
    duration = fmt.microseconds((track.ends[span.at] - track.starts[span.at]) / 1000)
    room = max(10, width - len(duration) - 4)
    name = short_name(index.names[track.names[span.at]], room)
    return line(Run("  "), name, Run(f"  {duration}", "dim"))
