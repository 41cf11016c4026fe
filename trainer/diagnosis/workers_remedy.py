"""What to do about a starved rank: a number of workers, or, where more cannot help, advice in words."""

import math
from dataclasses import dataclass

from perftui.ipc.findings import Remedy
from perftui.ipc.messages import LoaderFacts
from perftui.trainer.diagnosis.policy import Policy
from perftui.trainer.diagnosis.readiness import steady_wait, wait_ms
from perftui.trainer.diagnosis.signals import HostSignals, RankSignals
from perftui.trainer.tuning.predictor import WorkersProposal, propose_workers

_CHEAPER = (
    "make each sample cheaper to prepare (store it decoded and resized, a faster decoder, fewer or batched "
    "augmentations), or give the job more cores"
)
_UNSHARDED = (
    "more workers only after the dataset shards itself over them (torch.utils.data.get_worker_info): "
    "otherwise each worker reads all of the data again"
)


@dataclass(frozen=True)
class Answer:
    """A remedy, and what would settle the question where the signals do not."""

    remedy: Remedy | None
    unsure: str | None = None


def workers_remedy(
    rank: RankSignals,
    host: HostSignals | None,
    ranks_on_host: int,
    policy: Policy,
    *,
    at_least: int = 0,
) -> Answer:
    """Answer for one starved rank.

    `at_least` is the largest number of workers that any other rank has: a setting applies to all ranks, and
    none may lose workers by it.
    """
    facts = rank.loader
    if facts is None:
        return Answer(None, "the loader's own settings have not been read yet")
    if wait_ms(rank) < policy.wait_floor_ms:
        return Answer(Remedy(advice="larger batches, or a dataset that is indexed a batch at a time"))
    if facts.iterable and facts.sharded is not True:
        doubt = None if facts.sharded is False else "whether the dataset shards itself is not known"
        return Answer(Remedy(advice=_UNSHARDED), doubt)
    if host is None or host.cpus is None:
        return Answer(None, "how many cores are usable has not been measured yet")
    proposal = propose_workers(
        rank.step_ms.mean,
        steady_wait(rank),
        facts.num_workers,
        host.cpus,
        ranks_on_host,
        rank.cpu_share,
        host.run_busy,
    )
    if proposal is None:
        return _no_more(facts, host, host.cpus, ranks_on_host, policy)
    return Answer(_setting(facts, proposal, host, policy, at_least))


def setting_name(facts: LoaderFacts) -> str:
    """Return the settings key for the workers of this loader."""
    return "loader.num_workers" if facts.index == 0 else f"loader[{facts.index}].num_workers"


def _setting(
    facts: LoaderFacts, proposal: WorkersProposal, host: HostSignals, policy: Policy, at_least: int
) -> Remedy:
    return Remedy(
        set={setting_name(facts): max(proposal.num_workers, at_least)},
        bound=round(proposal.bound, 2) if math.isfinite(proposal.bound) else None,
        expected=round(proposal.expected, 2),
        semantics="neutral",
        caution="; ".join(_cautions(facts, host, policy)),
    )


def _cautions(facts: LoaderFacts, host: HostSignals, policy: Policy) -> list[str]:
    said = ["the samples and their order stay, random augmentations draw another stream of numbers"]
    batches = facts.batches_per_epoch
    if batches is not None and batches < policy.short_epoch_steps and not facts.persistent_workers:
        said.append(f"epochs are short ({batches} batches) and workers start anew at each one")
    if host.shm_free_mib is not None and host.shm_free_mib < policy.shm_low_mib:
        said.append(f"workers pass batches through /dev/shm, which has {host.shm_free_mib:.0f} MiB free")
    return said


def _no_more(
    facts: LoaderFacts, host: HostSignals, cpus: float, ranks_on_host: int, policy: Policy
) -> Answer:
    if facts.num_workers and host.run_busy is not None and host.run_busy < policy.idle_cores * cpus:
        busy = f"only {host.run_busy:.1f} of {cpus:g} cores are busy with this run"
        return Answer(
            Remedy(
                advice=f"look at where samples come from: {busy}, the workers wait too, likely for storage"
            ),
            "the state of the workers (waiting for storage, or for a lock) would tell",
        )
    if facts.num_workers == 0:
        full = f"the usable cores ({cpus:g}) are full already, workers would only share them"
        return Answer(Remedy(advice=f"{full}: {_CHEAPER}"), "a profile window shows what a sample costs")
    ranks = f" for {ranks_on_host} ranks" if ranks_on_host > 1 else ""
    full = f"{facts.num_workers} workers are all that {cpus:g} usable cores can run{ranks}"
    return Answer(
        Remedy(advice=f"{full}: {_CHEAPER}"),
        "the workers' own CPU time would tell whether they compute or wait for storage",
    )
