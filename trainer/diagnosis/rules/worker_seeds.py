"""`data.worker_seed`: loader workers that draw the same random numbers.

Of the global generators, or of one of the script's own that each worker has a copy of.
"""

from collections.abc import Iterator, Sequence

from perftui.ipc.findings import Finding, Remedy
from perftui.ipc.loader_facts import CopiedGenerator
from perftui.trainer.diagnosis.case import Case
from perftui.trainer.diagnosis.evidence import number
from perftui.trainer.diagnosis.readiness import Abstention

_SCRIPT = "__main__"
_WRITTEN = 3
"""Generators of which the advice spells out how to seed them."""
_GENERATORS = {"random": "Python's random", "numpy": "NumPy", "torch": "torch"}
_SEEDS = {
    "numpy.RandomState": "{}.seed(torch.initial_seed() % 2**32)",
    "random.Random": "{}.seed(torch.initial_seed())",
    "torch.Generator": "{}.manual_seed(torch.initial_seed())",
}
"""By kind: what seeds one anew, as it is; `{}` stands for it."""
_NEW = "{} = np.random.default_rng(torch.initial_seed())"
"""A Generator of NumPy's cannot be seeded: another one takes its place."""
_NEW_STATE = "{0}.bit_generator.state = type({0}.bit_generator)(torch.initial_seed()).state"
"""Where no other one can be put: in a tuple, among the arguments of a partial."""


def worker_seed(case: Case) -> Iterator[Finding | Abstention]:
    """Judge whether all workers of the loader draw the same random numbers."""
    for rank in case.signals.ranks:
        sampling, loader = rank.facts.sampling, rank.loader
        if sampling is None or loader is None or loader.num_workers < 2:
            continue
        told = rank.rank if len(case.signals.ranks) > 1 else None
        if sampling.copied_generators:
            prepared = sampling.worker_init_fn
            yield _copied(sampling.copied_generators, loader.num_workers, told, prepared=prepared)
            return
        if not sampling.worker_init_fn:
            continue
        alike = sampling.workers_alike
        if alike is None:
            reason = "the script prepares its workers (worker_init_fn), and their random states are not known"
            yield Abstention("data.worker_seed", reason, "workers of torch's own loader", rank.rank)
            return
        if alike:
            yield _seeded_by_script(alike, loader.num_workers, told)
            return


def _seeded_by_script(alike: list[str], workers: int, rank: int | None) -> Finding:
    names = " and ".join(_GENERATORS.get(name, name) for name in alike)
    return Finding(
        code="data.worker_seed",
        severity="warning",
        share=0.0,
        rank=rank,
        sentence=f"All {workers} workers of the loader begin with the same random state of "
        f"{names}: what the dataset draws from it comes {workers} times.",
        evidence=[number("workers with equal random states", workers, "")],
        remedy=Remedy(
            advice="in worker_init_fn, seed by torch.initial_seed() % 2**32, which differs by worker "
            "and from epoch to epoch; or leave it to torch, which seeds all three",
            semantics="changes-training",
        ),
        unsure="whether the dataset draws from it was not seen",
    )


def _copied(
    generators: Sequence[CopiedGenerator], workers: int, rank: int | None, *, prepared: bool
) -> Finding:
    """Return what is said of generators that were made before the workers were.

    Args:
        generators: of which they have copies.
        workers: of the loader.
        rank: whose loader it is; None: there is but one.
        prepared: there is a `worker_init_fn`.
    """
    names = " and ".join(dict.fromkeys(map(_named, generators)))
    told = [each.workers_alike for each in generators]
    alike = min((each for each in told if each is not None), default=workers)
    are = "is" if len(generators) == 1 else "are"
    whose = "both workers" if alike == workers == 2 else f"{alike} of {workers} workers"
    whose = f"all {workers} workers" if alike == workers > 2 else whose
    if prepared and None not in told:
        sentence = f"Your worker_init_fn runs, and {names} {are} in the same state in {whose} all the same: "
    elif None not in told:
        sentence = f"{names} {are} in the same state in {whose}, a copy each, made before they started: "
    else:
        sentence = (
            f"Each of {workers} workers has a copy of {names}, made before they started, in the same state: "
        )
    return Finding(
        code="data.worker_seed",
        severity="warning",
        share=0.0,
        rank=rank,
        sentence=f"{sentence}what is drawn from it comes {alike} times.",
        evidence=[number(f"workers with a copy of {names}", alike, "")],
        remedy=Remedy(advice=_seeding(generators, prepared=prepared), semantics="changes-training"),
        unsure=_doubt(generators),
    )


def _named(each: CopiedGenerator) -> str:
    """Return how a generator is called, as `draw` (train.py:11) or `rng` of Jitter (train.py:9)."""
    owner = f" of {each.owner}" if each.module != each.owner else ""
    return f"`{each.attribute}`{owner}" + (f" ({each.made})" if each.made else "")


def _doubt(generators: Sequence[CopiedGenerator]) -> str | None:
    """Say what was not seen; None: the workers were in the same state after their first batches too."""
    if any(each.workers_alike is None for each in generators):
        return "it is read from the code that fetches: the draws themselves were not seen"
    if all(each.alike_after for each in generators):
        return None
    return (
        "after the first batches the states differ: whether it is seeded anew for each sample, or drawn from "
        "more often in one worker, was not seen"
    )


def _seeding(generators: Sequence[CopiedGenerator], *, prepared: bool) -> str:
    """Return lines that seed the generators in a worker, ready to be pasted where they can be reached."""
    reached = [each for each in generators if each.reached][:_WRITTEN]
    if not reached:
        anew = _seed_line(generators[0].kind, generators[0].attribute)
        return f"no worker_init_fn can reach it: seed it in the worker, when it is first used: `{anew}`"
    elsewhere = sorted({each.module for each in reached} - {"", _SCRIPT})
    mine = sorted({each.reached for each in reached if each.module == _SCRIPT and _is_put(each)})
    imported = [*elsewhere, *(["numpy as np"] if any(map(_is_made_anew, reached)) else [])]
    seeds = dict.fromkeys(
        _seed_line(each.kind, f"{each.module}.{each.reached}" if each.module in elsewhere else each.reached)
        for each in reached
    )
    body = "; ".join(
        (
            *([f"import {', '.join(imported)}"] if imported else []),
            *([f"global {', '.join(mine)}"] if mine else []),
            *seeds,
        )
    )
    why = "torch.initial_seed() differs by worker and from epoch to epoch"
    if prepared:
        return f"in your worker_init_fn: `{body}`; {why}"
    beside = " in the file that makes it" if mine else ""
    return f"DataLoader(worker_init_fn=reseed), with{beside}: `def reseed(worker): {body}`; {why}"


def _is_put(each: CopiedGenerator) -> bool:
    """Tell whether another generator takes the place of a global."""
    return _is_made_anew(each) and each.reached.isidentifier()


def _is_made_anew(each: CopiedGenerator) -> bool:
    return each.kind not in _SEEDS and not each.reached.endswith("]")


def _seed_line(kind: str, reached: str) -> str:
    if kind in _SEEDS:
        return _SEEDS[kind].format(reached)
    return (_NEW_STATE if reached.endswith("]") else _NEW).format(reached)
