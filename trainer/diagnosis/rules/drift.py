"""`drift.slower`: steps that get slower as the run goes on."""

from collections.abc import Iterator
from itertools import pairwise

from perftui.ipc.findings import Finding, Remedy
from perftui.trainer.diagnosis.case import Case
from perftui.trainer.diagnosis.evidence import number, percent
from perftui.trainer.diagnosis.policy import Policy
from perftui.trainer.diagnosis.readiness import Abstention
from perftui.trainer.diagnosis.signals import RankSignals


def _others_may(case: Case, rank: RankSignals) -> bool:
    """Tell whether other work may slow the steps: it stretches their time and not their own CPU time."""
    if case.strongly_contended(rank.host):
        return True
    busy = any(found.host.name == rank.host for found in case.contended)
    fifths = rank.patterns.cpu_fifths_ms
    grown = fifths[-1] / fifths[0] if fifths and fifths[0] > 0 else None
    return busy and (grown is None or grown < case.policy.drift_cpu_ratio)


def _goes_on(fifths: tuple[float, ...], rises: int, policy: Policy, *, on_gpu: bool) -> bool:
    """Tell whether steps get slower by more than chance, and still do.

    A neighbour that comes, or clocks that fall, lift all later steps once; what grows with the steps goes on.
    """
    first, last = fifths[0], fifths[-1]
    least, enough = policy.drift_ratio_host, len(fifths) - 1
    if on_gpu:
        least, enough = policy.drift_ratio, policy.drift_rises
    if last < least * first or rises < enough or last < max(fifths[:3]):
        return False
    return last - fifths[len(fifths) // 2] >= policy.drift_late * (last - first)


def slower(case: Case) -> Iterator[Finding | Abstention]:
    """Judge the medians of five equal parts of the run."""
    policy = case.policy
    long = [rank for rank in case.ranks if rank.patterns.run_steps >= policy.drift_steps]
    unknown = next((rank.rank for rank in long if not rank.patterns.fifths_ms), None)
    if unknown is not None:
        reason = f"of the steps of rank {unknown} too few usual ones are known to compare parts of the run"
        yield Abstention("drift.slower", reason, "more usual steps", unknown)
    for rank in long:
        fifths = rank.patterns.fifths_ms
        if not fifths or fifths[0] <= 0:
            continue
        ratio = fifths[-1] / fifths[0]
        rises = sum(later > earlier for earlier, later in pairwise(fifths))
        if not _goes_on(fifths, rises, policy, on_gpu=case.paces[rank.rank].pacer == "device"):
            continue
        if _others_may(case, rank):
            reason = f"steps of rank {rank.rank} get slower, and other work on the host may be why"
            yield Abstention("drift.slower", reason, "a quiet host", rank.rank)
            return
        lost = 1 - 1 / ratio
        yield Finding(
            code="drift.slower",
            severity="critical" if ratio >= 2.0 else "warning",
            share=lost,
            rank=rank.rank if len(case.signals.ranks) > 1 else None,
            sentence=f"Steps get slower as the run goes on: {fifths[0]:.1f} ms in its first fifth, "
            f"{fifths[-1]:.1f} ms in its last.",
            evidence=[
                number("median step, first fifth", fifths[0], "ms"),
                number("median step, last fifth", fifths[-1], "ms"),
                number("rises from fifth to fifth", rises, ""),
            ],
            remedy=Remedy(
                bound=round(ratio, 2),
                advice="look for what grows with the steps: a list or graph that is kept and walked, "
                "hooks or "
                "graph nodes added in each step, data that gets longer, a log that is rewritten; a GPU that "
                "gets hot",
            ),
            unsure=f"which phase grows: a window now and one early in the run ({percent(lost)} is at stake)",
        )
        return
