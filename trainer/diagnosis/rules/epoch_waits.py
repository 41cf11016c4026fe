"""Waits that come with an epoch: at its head (workers and iterators begin anew), or in the first one only."""

from collections.abc import Iterator

from perftui.ipc.facts import StackPlace
from perftui.ipc.figures import counted
from perftui.ipc.findings import Finding, Remedy
from perftui.ipc.settings import Settings
from perftui.trainer.diagnosis.case import Case
from perftui.trainer.diagnosis.evidence import number, of_the_script, offered, percent, step
from perftui.trainer.diagnosis.policy import Policy
from perftui.trainer.diagnosis.readiness import Abstention, steady_wait
from perftui.trainer.diagnosis.signals import RankSignals
from perftui.trainer.diagnosis.wait_cause import storage_seen
from perftui.trainer.diagnosis.wait_remedy import setting_name

_LOADING = ("loader", "dataset", "collate")


def epoch_start(case: Case) -> Iterator[Finding | Abstention]:
    """Judge what the heads of epochs cost; the worst rank stands for ranks that lose alike."""
    losses = [(loss, rank) for rank in case.ready.judged if (loss := at_heads(rank)) is not None]
    loss, rank = max(losses, key=lambda pair: pair[0], default=(0.0, None))
    policy = case.policy
    if rank is None or loss < policy.wait_warning or rank.loader is None:
        return
    epochs, long_enough = rank.patterns.epoch_starts, rank.window_steps >= policy.steps_critical
    each = rank.patterns.epoch_start_ms or 0.0
    if epochs and loss * rank.step_ms.mean * rank.window_steps / epochs < policy.wait_floor_ms:
        return
    alone = len(case.signals.ranks) == 1 or len(losses) == len(case.ready.judged)
    yield Finding(
        code="input.epoch_start",
        severity="critical" if loss >= policy.wait_critical and long_enough else "warning",
        share=min(1.0, loss),
        rank=None if alone else rank.rank,
        host=rank.host,
        sentence=f"{percent(loss)} of the steps' time goes to the first batch of each epoch: "
        f"{_what_begins(rank, policy)}.",
        evidence=[
            number("loader wait at the head of epochs", loss, "share", rank.window_steps),
            number("first batch of an epoch", each, "ms", rank.window_steps),
            number("epochs begun", epochs, "", rank.window_steps),
            step(rank),
        ],
        coverage=rank.coverage,
        remedy=_remedy(rank, loss, policy),
    )


def _what_begins(rank: RankSignals, policy: Policy) -> str:
    facts = rank.loader
    if facts is None or facts.num_workers == 0:
        return "the loader's iterator (sampler, dataset) takes that long to begin"
    if facts.persistent_workers:
        if _sampler_looks(rank, policy):
            return "the workers are kept and have nothing to do while the sampler is at work"
        return "the workers are kept, but nothing is loaded ahead over an epoch's end"
    how = f" by {facts.multiprocessing_context}" if facts.multiprocessing_context else ""
    are = "is" if facts.num_workers == 1 else "are"
    started = f"{counted(facts.num_workers, 'worker')} {are} started anew{how} each time"
    return f"{started}{_prepared(rank, policy)}"


def _prepared(rank: RankSignals, policy: Policy) -> str:
    """Say how much of that the script itself does in each worker; empty where that is little or not known."""
    took_s = _preparing_s(rank, policy)
    return "" if took_s is None else f", {took_s:.2g} s of it in worker_init_fn"


def _preparing_s(rank: RankSignals, policy: Policy) -> float | None:
    sampling, each_s = rank.facts.sampling, (rank.patterns.epoch_start_ms or 0.0) / 1e3
    took_s = None if sampling is None else sampling.worker_init_s
    return min(took_s, each_s) if took_s is not None and took_s >= policy.place_share * each_s > 0 else None


def _sampler_looks(rank: RankSignals, policy: Policy) -> list[StackPlace]:
    """Return where looks found the training thread drawing indices; empty: hardly ever, or without workers.

    Beside workers, which make the batches, that is all of the script's that the loader has it do.
    """
    stacks = rank.facts.stacks
    if stacks is None or rank.loader is None or not rank.loader.num_workers:
        return []
    found = [place for place in stacks.places if place.area in _LOADING and _draws(place.at)]
    return found if sum(place.count for place in found) >= policy.own_looks else []


def _draws(at: str) -> bool:
    return of_the_script(at) or at.endswith("._next_index")


def _remedy(rank: RankSignals, loss: float, policy: Policy) -> Remedy:
    facts = rank.loader
    bound = round(1 / (1 - loss), 2) if loss < 1 else None
    drawing = _sampler_looks(rank, policy)
    if facts is not None and facts.persistent_workers and not drawing:
        return Remedy(
            advice="make epochs longer, for instance by sampler=RandomSampler(data, num_samples=10 * "
            "len(data)); build the DataLoader once, if the script makes one for each epoch",
            bound=bound,
        )
    if facts is None or facts.num_workers == 0 or facts.persistent_workers:
        most = max(drawing, key=lambda place: place.count, default=None)
        return Remedy(
            advice="see what the sampler does when an epoch begins, and do it once, before the first; build "
            "the DataLoader once as well; or make epochs longer",
            bound=bound,
            at=most.at if most is not None and of_the_script(most.at) else None,
        )
    wanted: Settings = {setting_name(facts, "persistent_workers"): True}
    sampling = rank.facts.sampling if _preparing_s(rank, policy) is not None else None
    return Remedy(
        set=offered(rank, wanted),
        at=None if sampling is None else sampling.worker_init_at,
        bound=bound,
        expected=round(1 / (1 - 0.9 * loss), 2),
        caution="not if the dataset changes from epoch to epoch in the main process: kept workers have their "
        "own copy of it" + ("; an IterableDataset does not see set_epoch any more" if facts.iterable else ""),
    )


def at_heads(rank: RankSignals) -> float | None:
    """Return the share of the time that the first batches of epochs took beyond a usual one."""
    waited, patterns = rank.epoch_start_wait, rank.patterns
    if waited is None:
        return None
    waited = min(waited, rank.shares.loader_wait or 0.0)
    if rank.loader is not None and rank.loader.num_workers:
        return waited
    if not patterns.epoch_starts or patterns.epoch_start_ms is None or not rank.step_ms.mean:
        return 0.0
    total = rank.shares.loader_wait or 0.0
    others = rank.window_steps - patterns.epoch_starts
    usual = max(0.0, total - waited) / others if others > 0 else 0.0
    return max(0.0, waited - usual * patterns.epoch_starts)


def only_epoch_starts(case: Case, rank: RankSignals) -> bool:
    """Tell whether a rank without workers waits at the heads of epochs, and hardly between them."""
    if rank.loader is not None and rank.loader.num_workers:
        return False  # their steady wait is without the heads already
    heads = at_heads(rank) or 0.0
    return heads >= case.policy.wait_warning and steady_wait(rank) - heads < case.policy.wait_warning


def cold_start(case: Case) -> Iterator[Finding | Abstention]:
    """Judge a first epoch that waited for data while the later ones do not."""
    for rank in case.ready.judged:
        if not only_cold(case, rank):
            continue
        first, *rest = rank.patterns.epochs
        before = first.wait_ms / first.wall_ms
        later = sum(e.wait_ms for e in rest) / sum(e.wall_ms for e in rest)
        yield Finding(
            code="input.cold_start",
            severity="info" if steady_wait(rank) < case.policy.wait_warning else "warning",
            share=steady_wait(rank),
            rank=None if len(case.signals.ranks) == 1 else rank.rank,
            host=rank.host,
            sentence=f"The first epoch waited {percent(before)} of its time for data, the later ones "
            f"{percent(later)}: the data is in the page cache, or in the script's own, by now.",
            evidence=[
                number("loader wait in the first epoch", before, "share", first.steps),
                number("loader wait later", later, "share", sum(e.steps for e in rest)),
            ],
            remedy=Remedy(
                advice="nothing for a long run; for many short ones, warm the cache first or keep the data "
                "on a faster disk",
                caution="any run right after this one will look faster for the same reason",
            ),
        )


def only_cold(case: Case, rank: RankSignals) -> bool:
    """Tell whether the first epoch waited and the later ones do not."""
    policy, epochs = case.policy, rank.patterns.epochs
    if len(epochs) < 2 or epochs[0].epoch != 0:
        return False
    first, rest = epochs[0], epochs[1:]
    steps, wall = sum(e.steps for e in rest), sum(e.wall_ms for e in rest)
    if min(first.steps, steps) < policy.steps_warning or not first.wall_ms or not wall:
        return False
    change = rank.change
    if change is not None and (change.gc_ms or 0.0) / 1e3 >= policy.gc_share * change.seconds:
        return False  # collections fall where they like, into waits as well
    before, later = first.wait_ms / first.wall_ms, sum(e.wait_ms for e in rest) / wall
    chance = case.strongly_contended(rank.host) and not storage_seen(case, rank, case.host(rank))
    ratio = policy.cold_ratio * (2 if chance else 1)
    felt = first.wait_ms / first.steps >= policy.wait_floor_ms
    return felt and before >= policy.wait_warning and later < policy.wait_warning and before >= ratio * later
