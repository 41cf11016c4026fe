"""`compute.operator`: operators that hold much of a window and are not what a model is made of.

One alone, or several of one purpose together.
"""

import re
from collections.abc import Iterator

from perftui.ipc.findings import Evidence, Finding, Remedy
from perftui.ipc.trace_report import OperatorFigures, RankReport
from perftui.trainer.diagnosis.case import Case
from perftui.trainer.diagnosis.changed_results import LESS_WORK
from perftui.trainer.diagnosis.evidence import number, percent
from perftui.trainer.diagnosis.readiness import Abstention
from perftui.trainer.diagnosis.rules.operator_families import Family, Held, is_line, largest_family
from perftui.trainer.diagnosis.signals import RankSignals
from perftui.trainer.diagnosis.trusted import trusted

_EXCHANGE = ("gloo::", "nccl::", "c10d::", "_c10d_functional::", "symm_mem::", "torch_ccl::")
_COPIES = frozenset({"aten::copy_", "aten::_to_copy", "aten::to"})
"""On a GPU these hold the copies from and to the host, of which other findings speak."""
_ELSEWHERE = ("Optimizer.", "enumerate(DataLoader)")
"""Callers whose time other findings speak of."""
_USUAL = re.compile(
    r"conv|(^|_)b?mm|addmm|addmv|baddbmm|matmul|(^|_)linear(?!_solve)|attention|attn|einsum|(^|_)dot$|"
    r"lstm|gru|rnn|_norm|layer_norm|batch_norm|softmax|fused",
    re.IGNORECASE,
)
"""What models spend their time in: products, convolutions, attention, recurrences, norms; no `linalg_…`."""
_ELEMENTWISE = re.compile(r"^(sqrt|rsqrt|div|mul|add|sub|exp|log|pow|reciprocal|square)_?$")


def operator(case: Case) -> Iterator[Finding | Abstention]:
    """Judge the largest unusual operator or family; that a convolution leads in a CNN is no news."""
    for rank in case.ranks:
        report = operators_of(rank)
        if report is None or not case.paced_by(rank, "model", "device"):
            continue
        found = [o for o in _unusual(report) if rank.device == "cpu" or o.name not in _COPIES]
        top = max(found, key=lambda each: each.share, default=None)
        held = _together(case, report)
        if held is not None and (top is None or held.share >= top.share):
            yield _of_a_family(case, rank, report, held)
            return
        if top is None or top.share < case.policy.operator_share:
            continue
        yield _finding(case, rank, report, top)
        return


def _together(case: Case, report: RankReport) -> Held | None:
    """Return the largest family, where it holds enough and is more than one operator."""
    held = largest_family(report)
    if held is None or held.share < case.policy.family_share:
        return None
    alone = held.members[0].share >= case.policy.family_spread * held.share
    return None if alone else held


def operators_of(rank: RankSignals) -> RankReport | None:
    """Return the window if its operators' shares can be believed: those of a GPU are of its own time."""
    device = () if rank.device == "cpu" else ("gpu",)
    return trusted(rank.report, "compute.operator", *device)


def main_operator(report: RankReport | None) -> OperatorFigures | None:
    """Return the operator with the largest own time, whatever it is; None without a window."""
    if report is None:
        return None
    return max(
        (each for each in report.operators if _of_the_model(each)), key=lambda o: o.share, default=None
    )


def _of_the_model(figures: OperatorFigures) -> bool:
    """Leave out marks that are no operators, the exchange of ranks, the optimizer and the loader."""
    name = figures.name
    if "::" not in name or name.startswith(_EXCHANGE) or name.startswith("autograd::"):
        return False
    caller = figures.callers[0].caller if figures.callers else ""
    return not caller.startswith(_ELSEWHERE)


def _unusual(report: RankReport) -> list[OperatorFigures]:
    return [
        each
        for each in report.operators
        if _of_the_model(each) and ("linalg" in each.name or not _USUAL.search(each.name.partition("::")[2]))
    ]


def _finding(case: Case, rank: RankSignals, report: RankReport, top: OperatorFigures) -> Finding:
    shapes = f" on {top.shapes[0].shapes}" if top.shapes else ""
    at = top.callers[0].caller if top.callers and is_line(top.callers[0].caller) else None
    steps = len(report.steps)
    shown: list[Evidence] = [
        number(f"self time of {top.name}", top.share, "share", steps),
        number("calls", top.count, "", steps),
    ]
    if top.count:
        own = top.self_device_us if top.self_device_us is not None else top.self_us
        shown.append(number("own time of a call", own / top.count, "us", steps))
    simple = rank.device == "cpu" and _ELEMENTWISE.match(top.name.partition("::")[2]) is not None
    return Finding(
        code="compute.operator",
        severity="info",
        share=min(1.0, top.share),
        rank=rank.rank if len(case.signals.ranks) > 1 else None,
        sentence=f"One operator, {top.name}{shapes}, holds {percent(top.share)} of the time in the window.",
        evidence=shown,
        remedy=Remedy(
            bound=round(1 / (1 - min(top.share, 0.99)), 2),
            advice="another form of it, or less of it: outside the step where it needs no gradient, every "
            "n-th step, on fewer numbers, in one call instead of many, torch.compile, a fused kernel",
            at=at,
            semantics="numeric",
            caution=LESS_WORK,
        ),
        unsure="so simple an operator is slow on a CPU where numbers are denormal (below 1e-38): a "
        "comparison with torch.set_flush_denormal(True) tells"
        if simple
        else None,
    )


def _of_a_family(case: Case, rank: RankSignals, report: RankReport, held: Held) -> Finding:
    steps, named = len(report.steps), [each for each in held.members[:3] if each.share > 0]
    at = _line_of(rank, held.members, held.family)
    where = "" if at is None else f", mostly at {at}"
    return Finding(
        code="compute.operator",
        severity="info",
        share=held.share,
        rank=rank.rank if len(case.signals.ranks) > 1 else None,
        sentence=f"{held.family.name} ({', '.join(each.name for each in named)}) hold {percent(held.share)} "
        f"of the time in the window with their backward{where}.",
        evidence=[
            number("these and what they call", held.share, "share", steps),
            *(number(f"self time of {each.name}", each.share, "share", steps) for each in named),
            number("calls", sum(each.count for each in named), "", steps),
        ],
        remedy=Remedy(
            bound=round(1 / (1 - min(held.share, 0.99)), 2),
            advice=held.family.advice,
            at=at,
            semantics="numeric",
            caution=LESS_WORK,
        ),
    )


def _line_of(rank: RankSignals, members: tuple[OperatorFigures, ...], family: Family) -> str | None:
    """Return the line that calls them: by a window with stacks, else by looks at the training thread."""
    callers = (each.callers[0].caller for each in members if each.callers)
    line = next((caller for caller in callers if is_line(caller)), None)
    if line is not None or rank.facts.stacks is None:
        return line
    places = [place for place in rank.facts.stacks.places if family.calls.search(place.line or "")]
    most = max(places, key=lambda place: place.count, default=None)
    return None if most is None else most.at
