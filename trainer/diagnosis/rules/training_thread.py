"""Work of the training thread itself: `input.inline` without a loader, `cpu.python` beside one."""

from collections.abc import Iterator

from perftui.ipc.findings import Evidence, Finding, Remedy, Severity
from perftui.trainer.diagnosis.case import Case
from perftui.trainer.diagnosis.evidence import number, percent, step
from perftui.trainer.diagnosis.host_at_work import idle_beside
from perftui.trainer.diagnosis.own_lines import (
    OwnLines,
    order_known,
    own_lines,
    own_place,
    python_at_least,
)
from perftui.trainer.diagnosis.policy import Policy
from perftui.trainer.diagnosis.readiness import Abstention
from perftui.trainer.diagnosis.rules.beside_gpu import beside_gpu
from perftui.trainer.diagnosis.rules.read_ahead import starved_behind_a_thread
from perftui.trainer.diagnosis.rules.stragglers import find_late
from perftui.trainer.diagnosis.signals import ASIDE, RankSignals

_PREPARING = ("dataset", "collate")
_SETTLED = "a profile window with stacks shows which lines"
_FOR_OUTPUTS = (
    "in tensor operations for the whole batch instead of Python, on the GPU where there is one, in a library "
    "in C, or every n-th step"
)
_OUT_OF_THE_LOOP = (
    "take it out of the loop: every n-th step, in tensor operations instead of Python, or in the dataset "
    "where workers run it"
)


def inline(case: Case) -> Iterator[Finding | Abstention]:
    """Judge loops that prepare batches in the training thread: all of it, or what a loader has left to do."""
    for rank in case.ranks:
        fed = rank.patterns.wait_known
        if rank.window_steps < case.policy.steps_warning or (fed and _hides_nothing(case, rank)):
            continue
        cost, sure = _inline_cost(case, rank)
        if cost is None:
            yield Abstention(
                "input.inline",
                f"rank {rank.rank} uses no DataLoader, and what comes before its backward was not seen",
                _SETTLED,
                rank.rank,
            )
            continue
        # Workers would have to hand it over, which takes its time as well.
        if cost < case.policy.inline_share or cost * rank.step_ms.mean < case.policy.wait_floor_ms:
            continue
        behind = None if fed else starved_behind_a_thread(case, rank, cost)
        if behind is not None and _idles(rank, cost):
            yield behind
            return
        place = own_place(rank.facts.stacks, case.policy.place_share, "script", *_PREPARING)
        where = "" if place is None else f" ({place.at})"
        beside = "after the loader has delivered" if fed else "and this thread asks no DataLoader"
        yield Finding(
            code="input.inline",
            severity=_severity(case, rank, cost, sure=sure),
            share=min(1.0, cost),
            rank=rank.rank if len(case.signals.ranks) > 1 else None,
            host=rank.host,
            sentence=f"The training thread {_does(case, rank, cost)} before the backward{where}, {beside}.",
            evidence=_evidence(rank, cost, before=fed),
            remedy=Remedy(
                bound=round(1 / (1 - min(cost, 0.99)), 2),
                advice=_into_the_dataset(rank, fed=fed, ordered=order_known(rank, case.policy)),
                at=None if place is None else place.at,
                semantics="neutral",
                caution="workers draw another stream of random numbers",
            ),
            unsure=None if sure else _doubt(rank),
        )
        return


def _doubt(rank: RankSignals) -> str:
    if rank.device != "cpu" and not rank.patterns.wait_known:
        return "a profile window measures how long the GPU idles meanwhile"
    return f"a forward much longer than its backward looks the same: {_SETTLED}"


def _into_the_dataset(rank: RankSignals, *, fed: bool, ordered: bool) -> str:
    """Return the advice; where it is not known what comes before the model's call, for both kinds of work."""
    advice = "move the preparation into the Dataset, where workers do it beside the model"
    if not fed:
        advice = (
            "move the preparation into a Dataset and let a DataLoader with workers do it; where another "
            "thread reads one ahead, give that one workers: threads share Python's lock"
        )
    elif rank.loader is not None and not rank.loader.num_workers:
        advice += "; the DataLoader has none yet: num_workers=2 or more"
    return advice if ordered else f"{advice}; what needs the model's outputs: {_FOR_OUTPUTS}"


def _does(case: Case, rank: RankSignals, cost: float) -> str:
    if _waits_there(case, rank, cost):
        return f"waits {percent(cost)} of each step in lines of the script's own"
    return f"spends {percent(cost)} of each step on work of its own"


def _hides_nothing(case: Case, rank: RankSignals) -> bool:
    """Tell whether nothing would be won: workers that are waited for, or a busy GPU, set the pace."""
    if rank.device == "cpu":
        return not case.paced_by(rank, "model", "host")
    return case.paces[rank.rank].pacer != "host"


def _inline_cost(case: Case, rank: RankSignals) -> tuple[float | None, bool]:
    """Return the share of the step that is preparation, and whether it was measured or looks showed it.

    Beside a GPU it counts only as far as that idles.
    """
    own = own_lines(rank, case.policy)
    if own is not None and (rank.device == "cpu" or rank.patterns.wait_known):
        return own.before, rank.device == "cpu"
    if rank.patterns.wait_known:
        return 0.0, False
    if rank.device != "cpu":
        idle = idle_beside(case, rank)
        if idle is None or (own is None and idle.share > 0.0):
            return None, False
        return (0.0 if own is None else min(own.before, idle.share)), idle.measured
    if rank.shares.backward is None or rank.shares.other is None:
        return None, False
    # A forward takes about half as long as its backward: one as long as it is granted.
    return max(0.0, rank.shares.other - rank.shares.backward), False


def _severity(case: Case, rank: RankSignals, cost: float, *, sure: bool) -> Severity:
    if not sure or rank.window_steps < case.policy.steps_critical:
        return "warning"
    return "critical" if cost >= 2 * case.policy.wait_critical else "warning"


def python(case: Case) -> Iterator[Finding | Abstention]:
    """Judge Python of the script's own that the training thread runs beside loader and model."""
    late = find_late(case)  # of whom that is said already, with the line
    for rank in case.ranks:
        beside = rank.patterns.wait_known and case.paced_by(rank, "host")
        own = own_lines(rank, case.policy)
        between = _between(case, rank, own)
        if late is not None and late.by == "host" and late.rank is rank:
            continue
        found = _python(case, rank, own, between, beside=beside) if beside or between else None
        found = found or beside_gpu(case, rank, own)
        if found is not None:
            yield found
            return


def _between(case: Case, rank: RankSignals, own: OwnLines | None) -> float:
    """Return the share of the step in lines past the model's call, where that makes steps longer."""
    if own is None or _hides_nothing(case, rank):
        return 0.0
    if rank.device == "cpu" or rank.patterns.wait_known:
        return own.between
    idle = idle_beside(case, rank)
    return 0.0 if idle is None else min(own.between, idle.share)


def _python(
    case: Case, rank: RankSignals, own: OwnLines | None, between: float, *, beside: bool
) -> Finding | Abstention | None:
    policy, stacks = case.policy, rank.facts.stacks
    # On a GPU the host may merely wait for it in these lines, unless the GPU waits itself.
    if rank.device != "cpu" and case.paces[rank.rank].pacer != "host":
        return None
    if own is None:
        return _unexplained(case, rank) if rank.device == "cpu" else None
    cost = between + (own.after if beside else 0.0)
    written = own.logging if beside and _undivided(cost, own.logging, policy) else 0.0
    cost += written
    if cost < policy.in_loop_python or cost * rank.step_ms.mean < policy.in_loop_ms:
        if not beside or own.looks >= policy.own_looks or rank.device != "cpu":
            return None
        return _by_window(case, rank) or _unexplained(case, rank)
    place = own_place(stacks, policy.place_share, "script")
    where = "" if place is None else f", mostly at {place.at}"
    waits = _waits_there(case, rank, cost)
    doing = "waits in lines of the script's own" if waits else "is in lines of the script's own"
    if written:
        doing += " (output among them)"
    mostly_between = 2 * between > cost
    past = ", past the model's call" if mostly_between else ""
    return Finding(
        code="cpu.python",
        severity="critical"
        if cost >= 2 * policy.wait_critical and _long(case, rank) and not written
        else "warning",
        share=min(1.0, cost),
        rank=rank.rank if len(case.signals.ranks) > 1 else None,
        host=rank.host,
        sentence=f"The training thread {doing} for {percent(cost)} of the time{past}{where}: neither loader "
        "nor model goes on meanwhile.",
        evidence=_evidence(rank, cost, before=mostly_between),
        remedy=Remedy(
            bound=round(1 / (1 - min(cost, 0.99)), 2),
            advice=(_FOR_OUTPUTS if mostly_between else _OUT_OF_THE_LOOP)
            + (f"; the line: {place.line}" if place is not None and place.line else ""),
            at=None if place is None else place.at,
        ),
        unsure=f"how much of it is output is open: {_SETTLED}" if written else None,
    )


def _undivided(cost: float, written: float, policy: Policy) -> bool:
    """Tell whether the script's lines and its output pass the threshold only together.

    Looks find output, which lets go of the interpreter, more easily than plain Python: where neither stands
    out, the parts say less than their sum.
    """
    return max(cost, written) < policy.in_loop_python <= cost + written


def _by_window(case: Case, rank: RankSignals) -> Finding | None:
    """Judge by a window's operators where looks did not find such lines."""
    cost, policy = python_at_least(rank), case.policy
    if cost is None or cost < policy.in_loop_python or cost * rank.step_ms.mean < policy.in_loop_ms:
        return None
    return Finding(
        code="cpu.python",
        severity="warning",
        share=cost,
        rank=rank.rank if len(case.signals.ranks) > 1 else None,
        host=rank.host,
        sentence=f"The training thread runs Python for at least {percent(cost)} of the time, outside of "
        "loader, model and operators of torch.",
        evidence=[
            number("Python at least, by a window", cost, "share"),
            number("other", rank.shares.other or 0.0, "share", rank.window_steps),
            step(rank),
        ],
        remedy=Remedy(
            bound=round(1 / (1 - min(cost, 0.99)), 2),
            advice="take what the loop does in Python beside the model (callbacks, metrics, bookkeeping) out "
            "of it, or do it every n-th step",
        ),
        unsure=f"looks at the thread did not find the lines: {_SETTLED}",
    )


def _unexplained(case: Case, rank: RankSignals) -> Finding | Abstention | None:
    other = rank.shares.other
    named = sum(pause.share for pause in rank.pauses if pause.kind not in ("validation", ASIDE))
    if other is None or other - named < case.policy.other_share:
        return None
    reason = f"{percent(other)} of the step of rank {rank.rank} is neither loading nor the model"
    return Abstention("cpu.python", reason, _SETTLED, rank.rank)


def _waits_there(case: Case, rank: RankSignals, cost: float) -> bool:
    """Tell whether the thread waits in its own lines; on a busy host one that wants to compute looks idle."""
    return _idles(rank, cost) and not case.strongly_contended(rank.host)


def _idles(rank: RankSignals, cost: float) -> bool:
    return rank.cpu_share is not None and rank.device == "cpu" and rank.cpu_share <= max(0.0, 1 - 0.7 * cost)


def _long(case: Case, rank: RankSignals) -> bool:
    return rank.window_steps >= case.policy.steps_critical


def _evidence(rank: RankSignals, cost: float, *, before: bool = False) -> list[Evidence]:
    """Return the figures, with the phase that the time lies in, by the name under which it is shown."""
    shown = [number("in lines of the script's own", cost, "share", rank.window_steps)]
    if before and rank.shares.forward is not None:
        shown.append(number("it lies in forward", rank.shares.forward, "share", rank.window_steps))
    elif rank.shares.other is not None:
        shown.append(number("it lies in other", rank.shares.other, "share", rank.window_steps))
    if rank.cpu_share is not None:
        shown.append(number("CPU of the training thread", rank.cpu_share, "cores", rank.window_steps))
    return [*shown, step(rank)]
