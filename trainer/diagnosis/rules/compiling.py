"""`compile.*`: torch.compile that goes on compiling, runs in pieces, or never pays back."""

from collections.abc import Iterator

from msgspec.structs import replace

from perftui.ipc.facts import CompileFacts
from perftui.ipc.figures import counted
from perftui.ipc.findings import Evidence, Finding, Remedy
from perftui.trainer.diagnosis.case import Case
from perftui.trainer.diagnosis.evidence import number, offered, percent, step
from perftui.trainer.diagnosis.readiness import Abstention
from perftui.trainer.diagnosis.rules.compiled_pieces import compiled_pieces
from perftui.trainer.diagnosis.signals import FactsChange, RankSignals


def compiling(case: Case) -> Iterator[Finding | Abstention]:
    """Judge what torch.compile did on the first rank that compiles; ranks compile alike."""
    for rank in case.signals.ranks:
        facts = rank.facts.compile
        if not rank.patterns.run_steps and rank.facts.compiles_now:
            yield _before_the_first_step(case, rank)
            return
        if facts is None or not (facts.frames or facts.graphs or facts.failures):
            continue
        found = [
            each
            for each in (
                _recompiles(case, rank, facts),
                _graph_breaks(case, rank, facts),
                _cudagraph_skips(case, rank, facts),
            )
            if each is not None
        ]
        yield from found
        recompiling = any(each.code == "compile.recompiles" for each in found)
        if not recompiling:
            yield from _cost(case, rank, facts)
        return


def _recompiles(case: Case, rank: RankSignals, facts: CompileFacts) -> Finding | None:
    policy, change = case.policy, rank.change
    hits = facts.limit_hits or 0
    late = rank.patterns.compiling
    grown = change.recompiles if change is not None else None
    going_on = (grown or 0) >= policy.recompiles and late >= policy.recompiles
    if not hits and not going_on:
        return None
    cost = _share_of_time(change)
    place = next(iter(facts.recompiled), None)
    why = f" because {place.reason}" if place is not None and place.reason else ""
    what = f"{place.function} ({place.at})" if place is not None else "a function"
    limit = f"at the limit torch gave up {counted(hits, 'time')} and runs that function uncompiled"
    gave_up = f"; {limit}" if hits else ""
    again = f" {counted(place.count, 'time')}" if place is not None else ""
    return Finding(
        code="compile.recompiles",
        severity="critical" if cost >= 2 * policy.recompile_share else "warning",
        share=cost,
        rank=rank.rank if len(case.signals.ranks) > 1 else None,
        sentence=f"torch.compile goes on compiling: {what} was compiled again{again}{why}{gave_up}.",
        evidence=[
            number("recompilations", facts.recompiles or 0, ""),
            number("times the limit was reached", hits, ""),
            *_time(facts, change),
        ],
        remedy=Remedy(
            bound=round(1 / (1 - min(cost, 0.99)), 2) if cost else None,
            advice="shapes or Python numbers that change: torch.compile(dynamic=True), batches padded to "
            "a few "
            "lengths, drop_last=True, numbers as tensors; or leave this function uncompiled",
            at=place.at if place is not None else None,
            semantics="numeric",
            caution="drop_last leaves samples out: compare the loss",
        ),
    )


def _before_the_first_step(case: Case, rank: RankSignals) -> Finding:
    phases, facts = rank.facts.phases, rank.facts.compile
    seconds = phases.seconds.get("compiling", 0.0) if phases is not None else 0.0
    if facts is not None and facts.compile_s is not None:
        seconds = max(seconds, facts.compile_s)
    return Finding(
        code="compile.warming_up",
        severity="info",
        share=0.0,
        rank=rank.rank if len(case.signals.ranks) > 1 else None,
        sentence=f"torch.compile has been at work for {seconds:.0f} s and no step is over yet: nothing "
        "else can be said of this run so far.",
        evidence=[number("time in compilations", seconds, "s")],
        remedy=Remedy(
            advice="wait; if it must start sooner: no max-autotune, which tries many kernels, or one of "
            "several equal layers compiled instead of the whole model (regional compilation)",
            semantics="numeric",
        ),
    )


def _graph_breaks(case: Case, rank: RankSignals, facts: CompileFacts) -> Finding | None:
    breaks, given_up = facts.graph_breaks or 0, facts.failures or 0
    if not breaks and not given_up:
        return None
    places = [*facts.uncompiled, *facts.breaks] if given_up else [*facts.breaks]
    place = places[-1] if places and not given_up else places[0] if places else None
    why = f": {place.reason}" if place is not None else ""
    what = (
        f"torch.compile gave up, and left {counted(given_up, 'function')} uncompiled{why}"
        if given_up
        else f"torch.compile had to cut its graph {counted(breaks, 'time')}, so the model runs in pieces "
        f"with Python between them{why}"
    )
    pieces = compiled_pieces(rank)
    in_pieces = pieces is not None and pieces.each_step >= case.policy.breaks_warning
    many = given_up or in_pieces or max(len(facts.breaks), breaks) >= case.policy.breaks_warning
    measured = in_pieces and pieces is not None and rank.device == "cpu"
    return Finding(
        code="compile.graph_breaks",
        severity="warning" if many else "info",
        share=pieces.around if measured and pieces is not None else 0.0,
        rank=rank.rank if len(case.signals.ranks) > 1 else None,
        sentence=f"{what.removesuffix('.')}.",
        evidence=[
            number("graph breaks", breaks, ""),
            number("functions given up", given_up, ""),
            *([] if facts.graphs is None else [number("graphs", facts.graphs, "")]),
            *([] if pieces is None else pieces.evidence()),
            step(rank),
        ],
        remedy=Remedy(
            bound=round(1 / (1 - min(pieces.around, 0.99)), 2) if measured and pieces is not None else None,
            advice="move what cannot be captured (print, .item(), other libraries) out of the compiled "
            "function, and cuts out of loops; fullgraph=True turns each cut into an error with its place",
            at=None if place is None else place.at,
            semantics="numeric",
        ),
        unsure=None if measured else "what a cut costs, a comparison without it tells",
    )


def _cudagraph_skips(case: Case, rank: RankSignals, facts: CompileFacts) -> Finding | None:
    if not facts.cudagraph_skips or not rank.device.startswith("cuda"):
        return None
    if not case.paced_by(rank, "host"):
        return None
    why = f": {facts.skip_reasons[-1]}" if facts.skip_reasons else ""
    return Finding(
        code="compile.cudagraph_skips",
        severity="warning",
        share=0.0,
        rank=rank.rank if len(case.signals.ranks) > 1 else None,
        sentence=f"CUDA graphs were asked for and not used {counted(facts.cudagraph_skips, 'time')}{why}.",
        evidence=[number("times CUDA graphs were skipped", facts.cudagraph_skips, ""), step(rank)],
        remedy=Remedy(
            advice="remove the cause (changed inputs, work on the CPU, changing shapes), or use "
            'mode="default", '
            "which does not try",
            semantics="numeric",
        ),
    )


def _cost(case: Case, rank: RankSignals, facts: CompileFacts) -> Iterator[Finding]:
    policy, patterns, seconds = case.policy, rank.patterns, facts.compile_s
    lately = patterns.compiling / patterns.compiling_of if patterns.compiling_of else 1.0
    if lately >= policy.compiling_lately or rank.window_steps < policy.steps_critical:
        yield Finding(
            code="compile.warming_up",
            severity="info",
            share=min(1.0, patterns.compiling_share or 0.0),
            rank=rank.rank if len(case.signals.ranks) > 1 else None,
            sentence="torch.compile is still at work"
            f"{f', {seconds:.0f} s so far' if seconds else ''}: these steps are not judged.",
            evidence=_time(facts, None),
        )
        return
    found = _not_worth(case, rank, facts)
    if found is not None:
        yield found


def _not_worth(case: Case, rank: RankSignals, facts: CompileFacts) -> Finding | None:
    """Judge compiled functions so small that calling them costs more than they compute; on CPUs.

    On a GPU the host's time hides behind the device's, and small steps gain most from captured graphs.
    """
    policy, pieces, seconds = case.policy, compiled_pieces(rank), facts.compile_s
    if rank.device != "cpu":
        return None
    remedy = Remedy(
        set=offered(rank, {"compile.mode": "off"}),
        advice="an experiment: the same run without torch.compile (TORCH_COMPILE_DISABLE=1), or one larger "
        "function compiled instead of many small ones",
        semantics="numeric",
    )
    many = len(case.signals.ranks) > 1
    if pieces is not None:
        if pieces.around < policy.compile_around or pieces.around <= pieces.within:
            return None
        return Finding(
            code="compile.not_worth",
            severity="warning",
            share=pieces.around,
            rank=rank.rank if many else None,
            sentence=f"Calling what torch.compile made (guards and wrappers, {pieces.each_step:.0f} calls a "
            f"step) takes {percent(pieces.around)} of the time in the window, and what it computes "
            f"{percent(pieces.within)}.",
            evidence=[*pieces.evidence(), step(rank)],
            remedy=replace(remedy, bound=round(1 / (1 - min(pieces.around, 0.99)), 2)),
            unsure="a comparison with compile off tells what it saves a step",
        )
    if not seconds or rank.step_ms.p50 >= policy.compile_tiny_ms or not rank.step_ms.p50:
        return None
    needed = seconds / (rank.step_ms.p50 / 1e3)
    if needed <= rank.patterns.run_steps:
        return None
    return Finding(
        code="compile.not_worth",
        severity="info",
        share=0.0,
        rank=rank.rank if many else None,
        sentence=f"Compiling took {seconds:.0f} s for steps of {rank.step_ms.p50:.1f} ms: even if it halved "
        f"them, it pays back after {needed:,.0f} steps.",
        evidence=[*_time(facts, None), number("steps so far", rank.patterns.run_steps, ""), step(rank)],
        remedy=remedy,
        unsure="a profile window shows what calling the compiled functions takes; a comparison with compile "
        "off, what they save",
    )


def _share_of_time(change: FactsChange | None) -> float:
    if change is None or change.compile_s is None or change.seconds <= 0:
        return 0.0
    return min(1.0, max(0.0, change.compile_s / change.seconds))


def _time(facts: CompileFacts, change: FactsChange | None) -> list[Evidence]:
    shown = [] if facts.compile_s is None else [number("time in compilations", facts.compile_s, "s")]
    if change is not None and change.compile_s is not None:
        shown.append(number("of the last time", _share_of_time(change), "share"))
    return shown
