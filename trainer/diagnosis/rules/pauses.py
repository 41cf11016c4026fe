"""`pause.*`: time that goes to garbage collections, checkpoints, validations and logging."""

from collections.abc import Iterator

from perftui.ipc.findings import Evidence, Finding, Remedy, Severity
from perftui.trainer.diagnosis.case import Case
from perftui.trainer.diagnosis.evidence import main_place, number, offered, percent
from perftui.trainer.diagnosis.own_lines import own_lines, own_place
from perftui.trainer.diagnosis.readiness import Abstention
from perftui.trainer.diagnosis.rules.stragglers import find_late
from perftui.trainer.diagnosis.signals import ASIDE, PauseSignals, RankSignals


def garbage(case: Case) -> Iterator[Finding | Abstention]:
    """Judge Python's garbage collections; the worst rank stands for all."""
    policy, costs = case.policy, []
    for rank in case.ranks:
        change = rank.change
        if change is not None and change.gc_ms is not None and change.seconds >= 1:
            costs.append((change.gc_ms / 1e3 / change.seconds, rank))
    cost, worst = max(costs, key=lambda pair: pair[0], default=(0.0, None))
    if worst is None or cost < policy.gc_share:
        return
    facts = worst.facts.gc
    longest = 0.0 if facts is None else facts.longest_ms
    yield Finding(
        code="pause.gc",
        severity=_collections(case, worst, cost),
        share=min(1.0, cost),
        rank=worst.rank if len(case.signals.ranks) > 1 else None,
        sentence=f"Python's garbage collector stops the training {percent(cost)} of the time"
        f"{f', {longest:.0f} ms at the longest' if longest else ''}: it walks over every living container.",
        evidence=[
            number("time in collections", cost, "share"),
            number("longest collection", longest, "ms"),
            *([] if facts is None else [number("full collections", facts.counts[-1], "")]),
        ],
        remedy=Remedy(
            bound=round(1 / (1 - min(cost, 0.99)), 2),
            expected=round(1 / (1 - 0.8 * min(cost, 0.99)), 2),
            set=offered(worst, {"gc.freeze": True}),
            advice="gc.freeze() once the data and the model are built, so that old objects are not "
            "walked again; "
            "or gc.disable() and one gc.collect() at a moment that all ranks share; or arrays instead of "
            "lists and dictionaries",
            caution="without any collection, cycles (exceptions, some frameworks) keep memory",
        ),
    )


def _collections(case: Case, rank: RankSignals, cost: float) -> Severity:
    """Weigh collections; on a busy host they take longer than they would, so a few say little."""
    if cost >= case.policy.gc_critical:
        return "critical"
    return "info" if case.strongly_contended(rank.host) else "warning"


def checkpoint(case: Case) -> Iterator[Finding | Abstention]:
    """Judge the time that saving takes of the training: in its thread, or waiting for one that saves."""
    costs = [(rank, *_saving(case, rank)) for rank in case.ranks]
    rank, own, waited = max(costs, key=lambda each: each[1] + each[2], default=(None, 0.0, 0.0))
    cost = min(1.0, own + waited)
    if rank is None or cost < case.policy.pause_info:
        return
    saves = [pause for pause in rank.pauses if pause.kind in ("checkpoint", ASIDE)]
    count, total_ms = sum(each.count for each in saves), sum(each.total_ms for each in saves)
    stacks = rank.facts.stacks
    sentence = (
        f"Saving checkpoints takes {percent(cost)} of the time: {count} of them, "
        f"{total_ms / max(1, count):.0f} ms each."
    )
    advice = (
        "save more rarely, to a faster disk, or in the background (torch.distributed.checkpoint.async_save)"
    )
    shown = [number("time in checkpoints", cost, "share"), number("checkpoints", count, "")]
    if waited and stacks is not None:
        place = own_place(stacks, case.policy.place_share, "script")
        where = "" if place is None else f", mostly at {place.at}"
        sentence = (
            f"Saving checkpoints holds the training up for {percent(cost)} of the time: another thread "
            f"writes them, and the training thread waits for it{where}."
        )
        advice = (
            "save more rarely, to a faster disk, or fewer tensors: a write that is done before the next one "
            "begins is waited for by nobody"
        )
        shown.append(number("looks that found it waiting for the one that saves", stacks.saving, ""))
    yield Finding(
        code="pause.checkpoint",
        severity=_weight(cost, case.policy.pause_warning, case.policy.wait_critical, rank, case),
        share=cost,
        rank=rank.rank if len(case.signals.ranks) > 1 else None,
        sentence=sentence,
        evidence=[
            *shown,
            number("mean", total_ms / max(1, count), "ms"),
            number("longest", max((each.longest_ms for each in saves), default=0.0), "ms"),
        ],
        remedy=Remedy(
            bound=round(1 / (1 - min(cost, 0.99)), 2),
            advice=advice,
            caution="what was done since the last checkpoint is lost when the run dies",
        ),
    )


def _saving(case: Case, rank: RankSignals) -> tuple[float, float]:
    """Return the shares of time in which a rank saves itself, and waits for another thread that does."""
    shares = {pause.kind: pause.share for pause in rank.pauses}
    own, stacks, policy = shares.get("checkpoint", 0.0), rank.facts.stacks, case.policy
    if not shares.get(ASIDE) or stacks is None or stacks.looks < policy.stack_looks:
        return own, 0.0
    if stacks.saving < policy.own_looks:
        return own, 0.0
    other = 1.0 if rank.shares.other is None else rank.shares.other
    return own, min(stacks.saving / stacks.looks, other)


def validation(case: Case) -> Iterator[Finding | Abstention]:
    """Judge the time that validating takes: information, unless it is most of the run."""
    policy = case.policy
    for rank, pause in _worst(case, "validation"):
        if pause.share < policy.validation_info:
            return
        yield Finding(
            code="pause.validation",
            severity="warning" if pause.share >= policy.validation_warning else "info",
            share=pause.share,
            rank=rank.rank if len(case.signals.ranks) > 1 else None,
            sentence=f"Validation takes {percent(pause.share)} of the time: {pause.count} times, "
            f"{pause.total_ms / max(1, pause.count):.0f} ms each.",
            evidence=_evidence(pause, "validations"),
            remedy=Remedy(
                bound=round(1 / (1 - min(pause.share, 0.99)), 2),
                advice="validate more rarely or on a part of the data; give its loader workers; under "
                "torch.no_grad() and with a larger batch",
            ),
        )


def _worst(case: Case, kind: str) -> list[tuple[RankSignals, PauseSignals]]:
    found = [(rank, pause) for rank in case.ranks for pause in rank.pauses if pause.kind == kind]
    return sorted(found, key=lambda pair: (-pair[1].share, pair[0].rank))[:1]


def _weight(share: float, warning: float, critical: float, rank: RankSignals, case: Case) -> Severity:
    long_enough = rank.window_steps >= case.policy.steps_critical
    if share >= critical and long_enough:
        return "critical"
    return "warning" if share >= warning else "info"


def _evidence(pause: PauseSignals, name: str) -> list[Evidence]:
    return [
        number(f"time in {name}", pause.share, "share"),
        number(name, pause.count, ""),
        number("mean", pause.total_ms / max(1, pause.count), "ms"),
        number("longest", pause.longest_ms, "ms"),
    ]


def logging(case: Case) -> Iterator[Finding | Abstention]:
    """Judge time in logging, printing and writing, where looks at the stack show it."""
    policy, late = case.policy, find_late(case)
    for rank in case.ranks:
        if late is not None and late.by == "host" and late.rank is rank:
            continue  # that is said of it already, with the line
        if case.paces[rank.rank].pacer == "device":
            continue  # the GPU works on meanwhile
        own = own_lines(rank, policy)
        cost = 0.0 if own is None else own.logging
        if own is None or cost < policy.in_loop_python or cost * rank.step_ms.mean < policy.logging_ms:
            continue
        place = main_place(rank.facts.stacks, policy.place_share, "logging")
        where = "" if place is None else f", mostly at {place.at}"
        yield Finding(
            code="pause.logging",
            severity=_weight(cost, policy.in_loop_python, 2 * policy.wait_critical, rank, case),
            share=min(1.0, cost),
            rank=rank.rank if len(case.signals.ranks) > 1 else None,
            sentence=f"Logging takes {percent(cost)} of the training thread's time{where}.",
            evidence=[
                number("logging, printing and writing", cost, "share", rank.window_steps),
                *(
                    []
                    if rank.shares.other is None
                    else [number("other", rank.shares.other, "share", rank.window_steps)]
                ),
            ],
            remedy=Remedy(
                bound=round(1 / (1 - min(cost, 0.99)), 2),
                advice="log every n-th step, buffer what is written, leave flush and fsync out of the loop",
                at=None if place is None else place.at,
            ),
        )
        return
