"""`compute.bound`: the loader keeps up and the model sets the pace. "Nothing to fix" is an answer too."""

from statistics import fmean

from perftui.ipc.findings import Evidence, Finding
from perftui.trainer.diagnosis.policy import Policy
from perftui.trainer.diagnosis.readiness import Abstention
from perftui.trainer.diagnosis.signals import HostSignals, RankSignals

CODE = "compute.bound"
_WINDOW = "a profile window shows what the rest of the step is spent on"
_NOT_SPEED = "A loss that falls slowly is a matter of learning, not of speed."


def compute_bound(
    ranks: tuple[RankSignals, ...], hosts: tuple[HostSignals, ...], policy: Policy
) -> Finding | Abstention:
    """Judge a run of which every rank is fed: healthy as far as can be seen, or why that cannot be said."""
    doubt = next((found for rank in ranks if (found := _doubt(rank, hosts, policy)) is not None), None)
    if doubt is not None:
        return doubt
    first = ranks[0]
    wait = fmean(rank.shares.loader_wait or 0.0 for rank in ranks)
    others = [rank.shares.other for rank in ranks]
    other = fmean(share for share in others if share is not None) if None not in others else 0.0
    on_cpu = all(rank.device == "cpu" for rank in ranks)
    return Finding(
        code=CODE,
        severity="info",
        share=min(1.0, max(0.0, 1.0 - wait - other)),
        host=first.host if len({rank.host for rank in ranks}) == 1 else None,
        sentence=_sentence(wait, on_cpu=on_cpu),
        evidence=_evidence(first, wait),
        coverage=min(rank.coverage for rank in ranks),
        unsure=None if on_cpu else "a profile window shows whether the GPU is busy or waits for the host",
    )


def _doubt(rank: RankSignals, hosts: tuple[HostSignals, ...], policy: Policy) -> Abstention | None:
    wait, other = rank.shares.loader_wait or 0.0, rank.shares.other
    if wait >= policy.wait_warning:
        reason = f"rank {rank.rank} waits {100 * wait:.0f} % of a step for data, at the start of epochs"
        return Abstention(CODE, reason, "longer epochs, or workers kept over epochs", rank.rank)
    # On a GPU the host's "other" may be nothing but waiting for the GPU, as at `loss.item()`.
    if rank.device != "cpu":
        return None
    if other is not None and other >= policy.other_share:
        reason = f"{100 * other:.0f} % of the step of rank {rank.rank} is neither loading nor the model"
        return Abstention(CODE, reason, _WINDOW, rank.rank)
    busy = next((host.run_busy for host in hosts if host.name == rank.host), None)
    idle = rank.cpu_share is not None and rank.cpu_share < policy.busy_thread
    if idle and (busy is None or busy < policy.busy_thread):
        reason = f"the training thread of rank {rank.rank} is idle for most of the step"
        return Abstention(CODE, reason, _WINDOW, rank.rank)
    return None


def _sentence(wait: float, *, on_cpu: bool) -> str:
    fed = f"The loader keeps up (wait {100 * wait:.0f} % of a step)"
    if on_cpu:
        return f"{fed}: the processor is busy with the model itself, nothing to fix there. {_NOT_SPEED}"
    return f"{fed}: the model on its GPU sets the pace, no setting of the loader changes that. {_NOT_SPEED}"


def _evidence(rank: RankSignals, wait: float) -> list[Evidence]:
    shares = {
        "loader wait": wait,
        "forward": rank.shares.forward,
        "backward": rank.shares.backward,
        "optimizer": rank.shares.optimizer,
    }
    shown = [
        Evidence(name=name, value=value, unit="share", window_steps=rank.window_steps)
        for name, value in shares.items()
        if value is not None
    ]
    step = Evidence(name="step", value=rank.step_ms.mean, unit="ms", window_steps=rank.window_steps)
    return [*shown, step]
