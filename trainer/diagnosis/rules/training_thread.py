"""Work of the training thread itself: `input.inline` without a loader, `cpu.python` beside one."""

from collections.abc import Iterator

from perftui.ipc.findings import Evidence, Finding, Remedy, Severity
from perftui.trainer.diagnosis.case import Case
from perftui.trainer.diagnosis.evidence import area_share, main_place, number, percent, step
from perftui.trainer.diagnosis.readiness import Abstention
from perftui.trainer.diagnosis.rules.stragglers import find_late
from perftui.trainer.diagnosis.signals import RankSignals

_SETTLED = "a profile window with stacks shows which lines"


def inline(case: Case) -> Iterator[Finding | Abstention]:
    """Judge loops that prepare their batches themselves, in the training thread."""
    for rank in case.ranks:
        if rank.patterns.wait_known or rank.window_steps < case.policy.steps_warning:
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
        if cost < case.policy.inline_share:
            continue
        place = main_place(rank.facts.stacks, case.policy.place_share, "script", "dataset", "collate")
        where = "" if place is None else f" ({place.at})"
        yield Finding(
            code="input.inline",
            severity=_severity(case, rank, cost, sure=sure),
            share=cost,
            rank=rank.rank if len(case.signals.ranks) > 1 else None,
            host=rank.host,
            sentence=f"The training thread spends {percent(cost)} of each step on work of its own before the "
            f"backward{where}, with no loader to do it beside the model.",
            evidence=_evidence(rank, cost),
            remedy=Remedy(
                bound=round(1 / (1 - min(cost, 0.99)), 2),
                advice="move the preparation into a Dataset and let a DataLoader with workers do it",
                at=None if place is None else place.at,
                semantics="neutral",
                caution="workers draw another stream of random numbers",
            ),
            unsure=None if sure else f"a forward much longer than its backward looks the same: {_SETTLED}",
        )
        return


def _inline_cost(case: Case, rank: RankSignals) -> tuple[float | None, bool]:
    """Return the share of the step that is preparation, and whether looks at the stack showed it."""
    seen = area_share(rank.facts.stacks, case.policy.stack_looks, "script", "dataset", "collate")
    if seen is not None and rank.device == "cpu":
        return min(seen, rank.shares.other if rank.shares.other is not None else 1.0), True
    if rank.device != "cpu" or rank.shares.backward is None or rank.shares.other is None:
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
        if not rank.patterns.wait_known or not case.paced_by(rank, "host"):
            continue
        if late is not None and late.by == "host" and late.rank is rank:
            continue
        found = _python(case, rank)
        if found is not None:
            yield found
            return


def _python(case: Case, rank: RankSignals) -> Finding | Abstention | None:
    policy, stacks = case.policy, rank.facts.stacks
    cost = area_share(stacks, policy.stack_looks, "script")
    if rank.device != "cpu":
        # The host may merely wait for the GPU in these lines: only a window tells.
        if case.paces[rank.rank].pacer != "host" or cost is None or cost < policy.in_loop_python:
            return None
    elif cost is None:
        return _unexplained(case, rank)
    if cost is None or cost < policy.in_loop_python or cost * rank.step_ms.mean < policy.in_loop_ms:
        return None
    place = main_place(stacks, policy.place_share, "script")
    where = "" if place is None else f", mostly at {place.at}"
    waits = _idles(rank, cost) and not case.strongly_contended(rank.host)
    doing = "waits in lines of the script's own" if waits else "is in lines of the script's own"
    return Finding(
        code="cpu.python",
        severity="critical" if cost >= 2 * policy.wait_critical and _long(case, rank) else "warning",
        share=min(1.0, cost),
        rank=rank.rank if len(case.signals.ranks) > 1 else None,
        host=rank.host,
        sentence=f"The training thread {doing} for {percent(cost)} of the time{where}: neither loader nor "
        "model goes on meanwhile.",
        evidence=_evidence(rank, cost),
        remedy=Remedy(
            bound=round(1 / (1 - min(cost, 0.99)), 2),
            advice="take it out of the loop: every n-th step, in tensor operations instead of Python, or "
            "in the "
            "dataset where workers run it" + (f" — {place.line}" if place is not None and place.line else ""),
            at=None if place is None else place.at,
        ),
    )


def _unexplained(case: Case, rank: RankSignals) -> Finding | Abstention | None:
    other = rank.shares.other
    named = sum(pause.share for pause in rank.pauses if pause.kind != "validation")
    if other is None or other - named < case.policy.other_share:
        return None
    reason = f"{percent(other)} of the step of rank {rank.rank} is neither loading nor the model"
    return Abstention("cpu.python", reason, _SETTLED, rank.rank)


def _idles(rank: RankSignals, cost: float) -> bool:
    return rank.cpu_share is not None and rank.device == "cpu" and rank.cpu_share <= max(0.0, 1 - 0.7 * cost)


def _long(case: Case, rank: RankSignals) -> bool:
    return rank.window_steps >= case.policy.steps_critical


def _evidence(rank: RankSignals, cost: float) -> list[Evidence]:
    shown = [number("training thread in the script's own lines", cost, "share", rank.window_steps)]
    if rank.shares.other is not None:
        shown.append(number("neither loader nor model", rank.shares.other, "share", rank.window_steps))
    if rank.cpu_share is not None:
        shown.append(number("CPU of the training thread", rank.cpu_share, "cores", rank.window_steps))
    return [*shown, step(rank)]
