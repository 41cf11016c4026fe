"""The head of a profile: what the window means, where its time went, whether it can be believed."""

from collections.abc import Sequence

from perftui.ipc.trace_report import GpuShares, IdleShares, RankReport, TrustCheck
from perftui.ipc.view import ProfileRank, ProfileView
from perftui.tui import format as fmt
from perftui.tui.renderables.lines import BLANK, Line, Run, clause, clip, join_fitting, line, width_of, wrap
from perftui.tui.renderables.stacked_bar import Part, bar_legend, stacked_bar
from perftui.tui.renderables.trace_context import TraceContext

_NAMED_CHECKS = 3
_FAILED = {
    "distortion": "the profiler slowed the steps",
    "device_events": "nothing from the device",
    "causality": "device work before its launch",
    "unlinked": "device work without its launch",
    "idle_unlinked": "idle time without its cause",
    "lost_launches": "launches without their kernels",
    "complete_steps": "no whole step",
    "compiling": "torch.compile was at work",
    "truncated": "the trace ends early",
    "graphs_on_rocm": "graphs are seen in part only",
    "start_skew": "the ranks began apart",
}
"""What it means that a check of a trace failed."""
_IDLE = "idle: "
_ROUNDING = 0.005
"""Parts that miss the whole by more than this leave a part that is not told."""


def headline(context: TraceContext, width: int, *, textured: bool = False) -> list[Line]:
    """Draw sentence, circumstances, bar and legend: as many lines at every width, but for the second."""
    if context.report is None and context.view is None and context.why:
        return [line(Run(" ○ ", "note"), Run(clause(fmt.visible(context.why), max(8, width - 3)), "note"))]
    if context.report is None:
        lines = window_lines(context.view, width, context.end_key)
        told = where_parts(None, context.profile_rank)
        why = line(Run(f"   {fmt.visible(context.why)}", "note")) if context.why and context.view else BLANK
        return [*lines, why, *_bar(told, width, textured=textured)] if not why else [*lines, why]
    mine = context.rank_report
    first, *rest = _sentence(context, width)
    badge = trust_badge(mine.trust if mine else [])
    about = join_fitting(_about(context), line(Run(" · ", "dim")), width - width_of(badge) - 4)
    if width_of(badge) + 30 > width:
        about = BLANK
    gap = line(Run(" · ", "dim")) if about else BLANK
    return [
        first,
        *rest,
        clip((Run("  "), *about, *gap, *badge), width),
        *_bar(where_parts(mine, context.profile_rank), width, textured=textured),
    ]


def _sentence(context: TraceContext, width: int) -> list[Line]:
    report, mine = context.report, context.rank_report
    said = report.sentence if report else ""
    alone = context.rank is not None and mine is not None and mine.sentence
    if mine is not None and (alone or not said):
        several = alone and len(context.ranks) > 1
        said = f"{context.each} {mine.rank}: {mine.sentence}" if several else mine.sentence
    if mine is not None and mine.error:
        return [line(Run("✖ ", "critical"), Run(fmt.visible(mine.error), "critical"))]
    wrapped = wrap(fmt.visible(said or "the window was read"), max(10, width - 2), "value")
    lines: list[Line] = [(Run("◆ ", "fine"), *wrapped[0])]
    if len(wrapped) > 1:
        rest = line(Run(" ".join(run.text for part in wrapped[1:] for run in part), "value"))
        lines.append((Run("  "), *clip(rest, max(10, width - 2))))
    return lines


def _about(context: TraceContext) -> Sequence[Line]:
    mine, view = context.rank_report, context.view
    ranks = len(context.ranks)
    words = [f"window {view.window_id}", steps_words(view)] if view else [_steps_of(mine)]
    rank = f"{context.each} {context.chosen}" + (f" of {ranks}" if ranks > 1 else "")
    if mine is not None:
        words += [rank, mine.device_name or "", f"{fmt.count(mine.events)} events" if mine.events else ""]
        words += [f"{fmt.milliseconds(mine.window_ms)} in all" if mine.window_ms else ""]
    return [line(Run(fmt.visible(word), "dim")) for word in words if word]


def _steps_of(mine: RankReport | None) -> str:
    steps = [each.step for each in mine.steps] if mine else []
    if not steps:
        return ""
    return f"step {steps[0]:,}" if len(steps) == 1 else f"steps {min(steps):,} to {max(steps):,}"


def steps_words(view: ProfileView) -> str:
    """Return which steps a window has, or will have."""
    if view.start_step < 0:  # as soon as the ranks can: not known before they have begun
        return "the next step" if view.steps == 1 else f"the next {view.steps} steps"
    return f"steps {view.start_step:,} to {view.start_step + view.steps - 1:,}"


def window_lines(view: ProfileView | None, width: int, end_key: str = "c") -> list[Line]:
    """Draw a window of which there is no report (yet): what it says, or how far it is."""
    if view is None:
        return [line(Run(" ○ no profiling window yet", "note"))]
    ranks = "1 rank" if len(view.ranks) == 1 else f"{len(view.ranks)} ranks"
    about = line(Run(f"   window {fmt.visible(view.window_id)} · {steps_words(view)} · {ranks}", "dim"))
    if view.state == "failed":
        return [line(Run(f" ✖ {fmt.visible(view.sentence or 'the window failed')}", "critical")), about]
    if view.state != "done":
        step = f"step {view.start_step:,}" if view.start_step >= 0 else "the next step"
        words = {
            "armed": f" ○ waiting for {step}",
            "recording": " ● recording",
            "analysing": " ● reading the traces",
        }
        ends = "" if view.state == "analysing" else f" · {end_key} cancels it"
        return [line(Run(words[view.state], "note"), Run(ends, "dim")), about]
    sentence = wrap(fmt.visible(view.sentence or "window done"), max(10, width - 2), "value")[:2]
    return [
        (Run("◆ ", "fine"), *sentence[0]),
        *(((Run("  "), *sentence[1]),) if len(sentence) > 1 else ()),
        about,
    ]


def trust_badge(checks: Sequence[TrustCheck]) -> Line:
    """Say in a few words whether a trace can be believed."""
    failed = [each for each in checks if each.passed is False]
    passed = [each for each in checks if each.passed]
    if failed:
        names = ", ".join(_FAILED.get(each.name, fmt.visible(each.name)) for each in failed[:_NAMED_CHECKS])
        more = f" and {len(failed) - _NAMED_CHECKS} more" if len(failed) > _NAMED_CHECKS else ""
        return line(Run(f"✖ {len(failed)} of {len(checks)} checks failed: {names}{more}", "critical"))
    if not passed:
        return line(Run("○ not checked", "dim"))
    asked = f", {len(checks) - len(passed)} not asked" if len(passed) < len(checks) else ""
    word = "check" if len(passed) == 1 else "checks"
    return line(Run(f"✔ {len(passed)} {word} passed{asked}", "fine"))


def where_parts(mine: RankReport | None, told: ProfileRank | None) -> list[Part]:
    """Return the parts that a window's time went into; they sum to 1."""
    if mine is not None and mine.gpu is not None:
        parts = _device_parts(mine.gpu, mine.idle)
    else:
        loader = mine.loader_share if mine else told.loader_share if told else None
        optimizer = mine.optimizer_share if mine else None
        parts = _host_parts(loader, optimizer)
    missing = 1.0 - sum(part.share for part in parts)
    if parts and missing > _ROUNDING:
        parts.append(Part("track", "?", "not told", "not told", missing))
    return [part for part in parts if part.share > 0]


def _device_parts(gpu: GpuShares, idle: IdleShares | None) -> list[Part]:
    parts = [
        Part("forward", "c", "computing", "comp", gpu.compute_only),
        Part("backward", "b", "computing and communicating", "both", gpu.overlap),
        Part("comm_exposed", "x", "communication alone", "comm", gpu.comm_exposed),
        Part("h2d", "m", "copies alone", "copy", gpu.mem_exposed),
    ]
    if idle is None:
        return [*parts, Part("track", ".", "idle: reason unknown", "reason unknown", gpu.idle)]
    return [
        *parts,
        Part("loader_wait", "l", "idle: loader", "loader", idle.loader),
        Part("sync", "y", "idle: sync call", "sync", idle.sync_call),
        Part("other", "h", "idle: host", "host", idle.host_other),
        Part("launch", "n", "idle: launch", "launch", idle.launch_latency),
        Part("dependency", "d", "idle: dependency", "dep", idle.dependency),
    ]


def _host_parts(loader: float | None, optimizer: float | None) -> list[Part]:
    if loader is None and optimizer is None:
        return []
    known = (loader or 0.0) + (optimizer or 0.0)
    parts = [Part("loader_wait", "l", "loader", "loader", loader or 0.0)]
    if optimizer is not None:
        parts.append(Part("optimizer", "o", "optimizer", "opt", optimizer))
    return [*parts, Part("forward", "r", "the rest of the host's time", "rest", max(0.0, 1.0 - known))]


def _bar(parts: Sequence[Part], width: int, *, textured: bool) -> list[Line]:
    if not parts or width < 12:
        return [BLANK, BLANK]
    bar = stacked_bar(parts, width - 4, textured=textured)
    return [(Run("  "), *bar), *((Run("  "), *part) for part in _legend(parts, width - 4, textured=textured))]


def _legend(parts: Sequence[Part], width: int, *, textured: bool) -> list[Line]:
    """Name the parts, the idle ones after their sum: on one line, or on two where room is scarce."""
    busy = [part for part in parts if not part.name.startswith(_IDLE)]
    idle = [
        part._replace(name=part.name.removeprefix(_IDLE)) for part in parts if part.name.startswith(_IDLE)
    ]
    if not idle:
        return [bar_legend(parts, width, "loader_wait", textured=textured, whole=True)]
    words = f"idle {fmt.percent(sum(part.share for part in idle))}: "
    lead = line(Run(words, "dim"))
    of_busy = bar_legend(busy, width, textured=textured, whole=True)
    of_idle = bar_legend(idle, max(1, width - len(words)), "loader_wait", textured=textured, whole=True)
    if width_of(of_busy) + 2 + len(words) + width_of(of_idle) > width:
        shorter = bar_legend(
            [part._replace(name=part.short) for part in busy], width, textured=textured, whole=True
        )
        if width_of(shorter) + 2 + len(words) + width_of(of_idle) > width:
            return [of_busy, (*lead, *of_idle)]
        of_busy = shorter
    return [(*of_busy, Run("  " if of_busy else ""), *lead, *of_idle)]
