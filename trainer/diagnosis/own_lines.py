"""What of a step goes into lines of the script's own: before the backward, after the step, or into logging.

Looks at the training thread come when it lets go of the interpreter, so they find calls into torch too often
and plain Python too seldom: their shares are no shares of time. How long each part of the step takes is
measured; looks only tell what it was spent on, and where.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass

from perftui.ipc.facts import StackFacts, StackPlace
from perftui.trainer.diagnosis.device_waits import logged_share
from perftui.trainer.diagnosis.evidence import main_place
from perftui.trainer.diagnosis.policy import Policy
from perftui.trainer.diagnosis.signals import RankSignals

_WAITS_FOR_GPU = (
    ".item(", ".cpu(", ".tolist(", ".numpy(", ".to(", ".cuda(", "synchronize(", "empty_cache(", "nonzero(",
)  # fmt: skip
"""In a line: the host may stand there only because the GPU is not done yet, or for a copy to it."""
_MEASURED_APART = ("Optimizer.", "enumerate(DataLoader)")
_LOADED = ("dataset", "collate")


@dataclass(frozen=True)
class OwnLines:
    """Shares (0-1) of the step. On a GPU the host may wait for it anywhere: no more than the looks say."""

    before: float
    """Work of the script's own before the backward, the forward left out: preparation, as far as is known."""
    between: float
    """Such work past the model's call, which may need what the model has put out; of a rank without a loader
    also what follows its backward."""
    after: float
    """Python of the script's own outside of loader, forward, backward and optimizer."""
    logging: float
    looks: float
    """Looks that found the thread in such lines, logging among them."""


def own_lines(rank: RankSignals, policy: Policy) -> OwnLines | None:
    """Return what goes into the script's own lines; None where that was not looked at or not measured."""
    stacks, other = rank.facts.stacks, rank.shares.other
    if stacks is None or stacks.looks < policy.stack_looks or other is None:
        return None
    script, logging = _script_looks(rank, stacks), stacks.looks * (logged_share(rank, policy) or 0.0)
    written = _for_writing(rank, stacks, policy)
    script, logging = script - written, logging + written
    if not rank.patterns.wait_known:
        return _without_loader(rank, stacks, other, script, logging, policy)
    if script + logging < policy.own_looks:
        return OwnLines(0.0, 0.0, 0.0, 0.0, script + logging)
    outside = max(0.0, other - _interrupted(rank))
    behind = min(1.0, stacks.looks * outside / (script + logging))
    outside *= (script + logging) / (script + logging + _torch_outside(rank, stacks))
    ahead = _ahead(rank, stacks, (1 - behind) * (script + logging), policy)
    share = script / (script + logging)
    most = (script / stacks.looks, logging / stacks.looks) if rank.device != "cpu" else (1.0, 1.0)
    past = _past_the_model(stacks, policy, "after")
    return OwnLines(
        before=min(most[0], share * ahead) * (1 - past),
        between=min(most[0], share * ahead) * past,
        after=min(most[0], share * outside),
        logging=min(most[1], (1 - share) * (ahead + outside)),
        looks=script + logging,
    )


def before_model_share(rank: RankSignals, policy: Policy) -> float:
    """Return the share of looks in lines of the script's own before the model's first call; 0: too few."""
    stacks = rank.facts.stacks
    if stacks is None or stacks.looks < policy.stack_looks:
        return 0.0
    return stacks.order.get("before", 0) / stacks.looks


def python_at_least(rank: RankSignals) -> float | None:
    """Return the share of the step outside of loader and model that no operator of torch explains, at least.

    From a window, which measures all operators: what is left of the time between loader, forward, backward
    and optimizer even if every operator of the model were run there. None: no window, or something else may
    fill that time (other ranks, compiled code, whose work is no operator), or a GPU.
    """
    report, other = rank.report, rank.shares.other
    if report is None or not report.window_ms or not report.operators or other is None:
        return None
    if rank.device != "cpu" or rank.world_size > 1 or rank.facts.compile is not None:
        return None
    operators = sum(each.self_us for each in report.operators if not each.name.startswith(_MEASURED_APART))
    return max(0.0, other - _interrupted(rank) - operators / 1e3 / report.window_ms)


def _without_loader(
    rank: RankSignals, stacks: StackFacts, other: float, script: int, logging: float, policy: Policy
) -> OwnLines:
    """Without a loader nothing marks where the forward begins: all but backward and optimizer is one part."""
    script += sum(stacks.areas.get(area, 0) for area in _LOADED)
    if script + logging < policy.own_looks:
        return OwnLines(0.0, 0.0, 0.0, 0.0, script + logging)
    outside = max(0.0, other - _interrupted(rank))
    cost = _beyond_forward(outside, rank, stacks, script + logging, policy)
    share = script / (script + logging)
    if rank.device != "cpu":
        cost = min(cost, (script + logging) / stacks.looks)
    past = _past_the_model(stacks, policy, "after", "behind")
    return OwnLines(
        before=share * cost * (1 - past),
        between=share * cost * past,
        after=0.0,
        logging=(1 - share) * cost,
        looks=script + logging,
    )


def own_place(stacks: StackFacts | None, least_share: float, *areas: str) -> StackPlace | None:
    """Return the line to name for the looks of some areas, if it or its function has so much of them.

    A look that is due during plain Python often comes only behind it, where the loop next calls into torch.
    So a function that the loop calls stands before a line of the loop itself, by its most looked-at line.
    """
    if stacks is None:
        return None
    total = sum(stacks.areas.get(area, 0) for area in areas)
    loops = {_function(place.at) for place in stacks.places if place.area in ("backward", "optimizer")}
    called: dict[str, list[StackPlace]] = defaultdict(list)
    for place in stacks.places:
        if place.area in areas and _function(place.at) not in loops:
            called[_function(place.at)].append(place)
    most = max(called.values(), key=_looks, default=[])
    if most and _looks(most) >= least_share * total:
        return max(most, key=lambda place: place.count)
    return main_place(stacks, least_share, *areas)


def _looks(places: list[StackPlace]) -> int:
    return sum(place.count for place in places)


def order_known(rank: RankSignals, policy: Policy) -> bool:
    """Tell whether the order of most of the script's lines around the model's call is known."""
    stacks = rank.facts.stacks
    if stacks is None:
        return False
    known = sum(stacks.order.values())
    return known >= policy.own_looks and 2 * known >= stacks.areas.get("script", 0)


def _past_the_model(stacks: StackFacts, policy: Policy, *orders: str) -> float:
    """Return the share of the script's lines past the model's call; unknown ones count as before it."""
    past = sum(stacks.order.get(order, 0) for order in orders)
    unknown = max(0, stacks.areas.get("script", 0) - sum(stacks.order.values()))
    told = stacks.order.get("before", 0) + past
    return past / (told + unknown) if told >= policy.own_looks else 0.0


def _ahead(rank: RankSignals, stacks: StackFacts, looks: float, policy: Policy) -> float:
    """Return the share of the step before the backward that is not the forward."""
    forward = rank.shares.forward
    if forward is None or looks < policy.own_looks:
        return 0.0
    return _beyond_forward(forward, rank, stacks, looks, policy)


def _beyond_forward(
    part: float, rank: RankSignals, stacks: StackFacts, looks: float, policy: Policy
) -> float:
    """Return what of a part of the step, in which the forward lies, goes into the script's own lines.

    A forward takes about half as long as its backward: one as long as it is granted, where looks do not say
    that the model takes nearly all of the rest as well.
    """
    seen = looks / (looks + stacks.areas.get("model", 0))
    backward = rank.shares.backward
    rest = 0.0 if backward is None or seen < policy.own_beside_model else max(0.0, part - backward)
    return max(seen * part, rest)


def _torch_outside(rank: RankSignals, stacks: StackFacts) -> float:
    """Return looks in the model or an optimizer that their measured time does not explain.

    They are of what torch does besides: another model's forward, metrics, the clipping of gradients.
    """
    measured = {"model": rank.shares.forward, "optimizer": rank.shares.optimizer}
    return sum(
        max(0.0, stacks.areas.get(area, 0) - stacks.looks * share)
        for area, share in measured.items()
        if share is not None
    )


def _script_looks(rank: RankSignals, stacks: StackFacts) -> int:
    """Return looks in the script's lines; on a GPU without those in which the host may merely wait for it."""
    found = stacks.areas.get("script", 0)
    if rank.device == "cpu":
        return found
    waiting = sum(
        place.count
        for place in stacks.places
        if place.area == "script" and place.line and any(call in place.line for call in _WAITS_FOR_GPU)
    )
    return max(0, found - waiting)


def _for_writing(rank: RankSignals, stacks: StackFacts, policy: Policy) -> int:
    """Return looks at lines that only prepare what is written: of a function that writes and does not train.

    A function in which a batch is loaded, or the model is mostly at work, is the loop or calls it: its lines
    are its own. One that only walks over the model's parameters is found there as well, now and then.
    """
    if rank.device != "cpu":
        return 0
    areas: dict[str, Counter[str]] = defaultdict(Counter)
    for place in stacks.places:
        areas[_function(place.at)][place.area] += place.count
    writing = [counts for counts in areas.values() if counts["logging"] >= policy.own_looks]
    return sum(
        counts["script"]
        for counts in writing
        if not counts.keys() - {"script", "logging", "model"}
        and counts["model"] < counts["script"] + counts["logging"]
    )


def _function(at: str) -> str:
    """Return file and function of a place, `train.py draw` for `train.py:26 draw`."""
    file, _, rest = at.rpartition(":")
    return f"{file} {rest.partition(' ')[2]}"


def _interrupted(rank: RankSignals) -> float:
    """Return the share of the time that is known to be something else: collections, checkpoints."""
    pauses = {pause.kind: pause.share for pause in rank.pauses}
    change = rank.change
    collecting = 0.0
    if change is not None and change.gc_ms is not None and change.seconds > 0:
        collecting = change.gc_ms / 1e3 / change.seconds
    return max(collecting, pauses.get("gc", 0.0)) + pauses.get("checkpoint", 0.0)
