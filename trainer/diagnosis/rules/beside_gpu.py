"""`cpu.python` by a window: the GPU idles while the host computes or runs Python, wherever in the step."""

from perftui.ipc.findings import Finding, Remedy
from perftui.trainer.diagnosis.case import Case
from perftui.trainer.diagnosis.changed_results import MORE_RARELY
from perftui.trainer.diagnosis.evidence import area_share, main_place, number, percent, step
from perftui.trainer.diagnosis.host_at_work import computing_share, like_other_steps, measured_work
from perftui.trainer.diagnosis.own_lines import OwnLines
from perftui.trainer.diagnosis.signals import RankSignals

_AREAS = ("script", "model", "dataset", "collate")


def beside_gpu(case: Case, rank: RankSignals, own: OwnLines | None) -> Finding | None:
    """Judge what the host does itself while the GPU idles, as far as no other finding names it.

    Lines before and past the model's call, the optimizer, logging and a model with a part on the CPU have
    their own. What remains lies in the forward or in the backward, or looks have not found it.
    """
    policy, work = case.policy, measured_work(rank)
    if work is None or case.paces[rank.rank].pacer != "host" or not like_other_steps(rank):
        return None
    model = rank.facts.model
    if model is not None and any(name.startswith("cpu") for name in model.devices):
        return None
    told = 0.0 if own is None else own.before + own.between + own.after + own.logging
    cost = work - told - (rank.shares.optimizer or 0.0)
    if cost < policy.in_loop_python or cost * rank.step_ms.mean < policy.in_loop_ms:
        return None
    place = main_place(rank.facts.stacks, policy.place_share, *_AREAS)
    where = "" if place is None else f", mostly at {place.at}"
    computing = computing_share(rank)
    doing = "computes on the CPU" if 2 * computing > work else "is in no operator of torch's"
    looked = area_share(rank.facts.stacks, policy.stack_looks, *_AREAS)
    return Finding(
        code="cpu.python",
        severity="critical" if cost >= 2 * policy.wait_critical else "warning",
        share=min(1.0, cost),
        rank=rank.rank if len(case.signals.ranks) > 1 else None,
        host=rank.host,
        sentence=f"The GPU idles {percent(cost)} of the time while the training thread {doing}{where}.",
        evidence=[
            number("GPU idle beside work of the host's own", work, "share"),
            number("of it in operators on the CPU", computing, "share"),
            step(rank),
        ],
        remedy=Remedy(
            bound=round(1 / (1 - min(cost, 0.99)), 2),
            advice="do it in tensor operations on the GPU, every n-th step, or in the dataset where workers "
            "run it",
            at=None if place is None else place.at,
            semantics="numeric",
            caution=MORE_RARELY,
        ),
        unsure=None if looked else "looks at the thread did not find the lines: a longer run does",
    )
