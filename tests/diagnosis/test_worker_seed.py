"""`data.worker_seed`: said where workers were seen to begin alike, and only there."""

import pytest

from perftui.ipc.loader_facts import CopiedGenerator, SamplingFacts
from perftui.trainer.diagnosis import judge
from perftui.trainer.diagnosis.signals import RankSignals

from .made import abstained, facts, found, lead, loader, rank, run


def _prepared(alike: list[str] | None, workers: int = 2, *, init: bool = True) -> RankSignals:
    sampling = SamplingFacts(loader=0, sampler="RandomSampler", worker_init_fn=init, workers_alike=alike)
    return rank(facts=facts(sampling=sampling), loader=loader(num_workers=workers))


@pytest.mark.parametrize(
    ("made", "seen"),
    [
        (_prepared(["numpy"]), True),
        (_prepared(["random", "numpy", "torch"], 8), True),
        (_prepared([]), False),
        (_prepared(None), False),
        (_prepared(["numpy"], 1), False),
        (_prepared(["numpy"], init=False), False),
    ],
)
def test_workers_that_begin_alike(made: RankSignals, seen: bool) -> None:
    assert ("data.worker_seed" in found(run(made))) is seen


def test_it_leads_over_nothing_to_fix_and_says_which_generators() -> None:
    finding = lead(run(_prepared(["random", "numpy"])))
    assert (finding.code, finding.severity) == ("data.worker_seed", "warning")
    assert "Python's random and NumPy" in finding.sentence
    assert finding.unsure is not None


def test_workers_that_did_not_tell_are_not_judged() -> None:
    judgement = judge(run(_prepared(None)))
    assert "random states are not known" in abstained(judgement)["data.worker_seed"]
    assert "data.worker_seed" not in abstained(judge(run(_prepared([]))))


def _copied(
    kind: str = "numpy.Generator", workers: int = 2, *, init: bool = False, alike: list[str] | None = None
) -> RankSignals:
    generators = [CopiedGenerator(owner="Waves", attribute="rng", kind=kind)]
    sampling = SamplingFacts(
        loader=0,
        sampler="RandomSampler",
        worker_init_fn=init,
        workers_alike=alike,
        copied_generators=generators,
    )
    return rank(facts=facts(sampling=sampling), loader=loader(num_workers=workers))


@pytest.mark.parametrize(
    ("kind", "anew"),
    [
        ("numpy.Generator", "rng = np.random.default_rng(torch.initial_seed())"),
        ("numpy.RandomState", "rng.seed(torch.initial_seed() % 2**32)"),
        ("random.Random", "rng.seed(torch.initial_seed())"),
        ("torch.Generator", "rng.manual_seed(torch.initial_seed())"),
        ("another", "torch.initial_seed()"),
    ],
)
def test_copies_of_a_generator_are_named_and_how_to_seed_them(kind: str, anew: str) -> None:
    finding = lead(run(_copied(kind)))
    assert (finding.code, finding.severity) == ("data.worker_seed", "warning")
    assert "rng of Waves" in finding.sentence
    assert [(each.name, each.value) for each in finding.evidence] == [
        ("workers with a copy of rng of Waves", 2.0)
    ]
    assert finding.remedy is not None
    assert anew in str(finding.remedy.advice)


def test_copies_stand_before_what_is_not_known_and_need_two_workers() -> None:
    judgement = judge(run(_copied(init=True)))
    assert "data.worker_seed" not in abstained(judgement)
    assert "data.worker_seed" in found(run(_copied(init=True, alike=[])))
    assert "data.worker_seed" not in found(run(_copied(workers=1)))
