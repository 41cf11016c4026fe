"""Which ranks can be judged, and for the others what is missing and what would settle it."""

from dataclasses import dataclass

from perftui.trainer.diagnosis.policy import Policy
from perftui.trainer.diagnosis.signals import RankSignals, RunSignals

_WINDOW = "a profile window shows where the training thread spends its time"


@dataclass(frozen=True)
class Abstention:
    """A judgement that was not made."""

    code: str
    reason: str
    settled_by: str
    rank: int | None = None


@dataclass(frozen=True)
class Readiness:
    """The ranks that can be judged by their loader wait, and why the others cannot."""

    judged: tuple[RankSignals, ...]
    abstained: tuple[Abstention, ...]
    complete: bool
    """Every rank of the world is among the judged."""


def readiness(signals: RunSignals, policy: Policy) -> Readiness:
    """Sort the ranks."""
    judged: list[RankSignals] = []
    abstained: list[Abstention] = []
    for rank in signals.ranks:
        problem = _problem(rank, policy)
        if problem is None:
            judged.append(rank)
        else:
            abstained.append(problem)
    complete = len(judged) == max(signals.world_size, len(signals.ranks)) and bool(judged)
    return Readiness(tuple(judged), tuple(abstained), complete)


def steady_wait(rank: RankSignals) -> float:
    """Return the loader's share of a step, without what starting workers costs at the head of an epoch.

    Without workers there is nothing to start: the first batch costs what every batch costs.
    """
    wait = rank.shares.loader_wait or 0.0
    if rank.epoch_start_wait is None or rank.loader is None or rank.loader.num_workers == 0:
        return wait
    return max(0.0, wait - rank.epoch_start_wait)


def wait_ms(rank: RankSignals) -> float:
    """Return the steady loader wait in milliseconds a step."""
    return steady_wait(rank) * rank.step_ms.mean


def won_share(rank: RankSignals, policy: Policy) -> float:
    """Return the share of a step that a loader with workers enough could save.

    Workers hide all of the wait but the handover of each batch, and of an epoch's first batch, which they
    begin when it is asked for, nothing. Where there are workers already, handing over is part of every wait.
    """
    wait, facts = steady_wait(rank), rank.loader
    if facts is None or facts.num_workers or not rank.step_ms.mean:
        return wait
    batches = facts.batches_per_epoch or 0
    hidden = 1 - 1 / batches if batches > 1 else 1.0
    handover = policy.handover_ms * max(1.0, rank.patterns.micro_batches) / rank.step_ms.mean
    return max(0.0, hidden * wait - handover)


def _problem(rank: RankSignals, policy: Policy) -> Abstention | None:
    code = "input.workers"
    if not rank.patterns.run_steps and not rank.window_steps:
        return Abstention(code, f"rank {rank.rank} has done no step so far", "its first steps", rank.rank)
    if rank.shares.loader_wait is None:
        reason = f"the wait for data of rank {rank.rank} was not measured: no DataLoader fetch was seen"
        return Abstention(code, reason, _WINDOW, rank.rank)
    needed = _steps_needed(rank, policy)
    if rank.window_steps < needed:
        reason = f"rank {rank.rank} has {rank.window_steps} steady steps so far"
        return Abstention(code, reason, f"{needed} of them", rank.rank)
    if rank.coverage < policy.coverage:
        reason = f"the wait of rank {rank.rank} was measured in {100 * rank.coverage:.0f} % of its steps only"
        return Abstention(code, reason, _WINDOW, rank.rank)
    return None


def enough_steps(rank: RankSignals, policy: Policy) -> bool:
    """Tell whether a rank's window has steps enough for any judgement: few very long ones will do."""
    return rank.window_steps >= policy.steps_warning or _long_window(rank, policy)


def _long_window(rank: RankSignals, policy: Policy) -> bool:
    seconds = rank.window_steps * rank.step_ms.mean / 1e3
    return rank.window_steps >= policy.steps_least and seconds >= policy.window_long_s


def _steps_needed(rank: RankSignals, policy: Policy) -> int:
    workers = 0 if rank.loader is None else rank.loader.num_workers
    if _long_window(rank, policy):
        return max(policy.steps_least, workers)
    return max(policy.steps_warning, policy.steps_per_worker * workers)
