"""`data.worker_seed`: said where workers were seen to begin alike, and only there."""

import pytest
from msgspec.structs import replace

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


def _copied(*generators: CopiedGenerator, workers: int = 2, init: bool = False) -> RankSignals:
    sampling = SamplingFacts(
        loader=0,
        sampler="RandomSampler",
        worker_init_fn=init,
        workers_alike=[] if init else None,
        copied_generators=list(generators),
    )
    return rank(facts=facts(sampling=sampling), loader=loader(num_workers=workers))


HELD = "torch.utils.data.get_worker_info().dataset"
RNG = CopiedGenerator(
    owner="Waves", attribute="rng", kind="numpy.Generator", reached=f"{HELD}.rng", made="train.py:9"
)
DRAW = CopiedGenerator(
    owner="__main__",
    attribute="draw",
    kind="numpy.Generator",
    reached="draw",
    module="__main__",
    made="train.py:11",
)


@pytest.mark.parametrize(
    ("generator", "block"),
    [
        (RNG, f"import numpy as np; {HELD}.rng = np.random.default_rng(torch.initial_seed())"),
        (
            replace(RNG, kind="numpy.RandomState", reached=f"{HELD}.transform.rng"),
            f"{HELD}.transform.rng.seed(torch.initial_seed() % 2**32)",
        ),
        (replace(RNG, kind="random.Random"), f"{HELD}.rng.seed(torch.initial_seed())"),
        (replace(RNG, kind="torch.Generator"), f"{HELD}.rng.manual_seed(torch.initial_seed())"),
        (
            replace(RNG, reached=f"{HELD}.parts[0]"),
            f"{HELD}.parts[0].bit_generator.state = "
            f"type({HELD}.parts[0].bit_generator)(torch.initial_seed()).state",
        ),
        (DRAW, "import numpy as np; global draw; draw = np.random.default_rng(torch.initial_seed())"),
        (replace(DRAW, kind="random.Random"), "draw.seed(torch.initial_seed())"),
        (
            replace(DRAW, reached="AUGMENT.rng"),
            "import numpy as np; AUGMENT.rng = np.random.default_rng(torch.initial_seed())",
        ),
        (
            replace(DRAW, module="parts.noise"),
            "import parts.noise, numpy as np; parts.noise.draw = np.random.default_rng(torch.initial_seed())",
        ),
        (
            replace(DRAW, module="parts.noise", kind="torch.Generator"),
            "import parts.noise; parts.noise.draw.manual_seed(torch.initial_seed())",
        ),
    ],
)
@pytest.mark.parametrize("init", [False, True])
def test_how_to_seed_it_by_its_kind_and_where_it_is_reached(
    generator: CopiedGenerator, block: str, init: bool
) -> None:
    finding = lead(run(_copied(generator, init=init)))
    assert (finding.code, finding.severity) == ("data.worker_seed", "warning")
    assert finding.remedy is not None
    advice = str(finding.remedy.advice)
    assert (f"in your worker_init_fn: `{block}`" if init else f"`def reseed(worker): {block}`") in advice
    compile(f"def reseed(worker): {block}", "train.py", "exec")


def test_what_no_worker_init_fn_can_reach() -> None:
    finding = lead(run(_copied(replace(RNG, reached=""))))
    assert finding.remedy is not None
    assert "seed it in the worker, when it is first used" in str(finding.remedy.advice)


def test_several_are_seeded_in_one_function() -> None:
    finding = lead(run(_copied(RNG, replace(RNG, reached=f"{HELD}.b.rng"), DRAW)))
    assert finding.remedy is not None
    advice = str(finding.remedy.advice)
    assert f"import numpy as np; global draw; {HELD}.rng = " in advice
    assert f"{HELD}.b.rng = " in advice
    assert "`rng` of Waves (train.py:9) and `draw` (train.py:11)" in finding.sentence


def _said(made: RankSignals) -> tuple[str, bool]:
    finding = lead(run(made))
    return finding.sentence, finding.unsure is not None


def test_what_is_said_of_states_that_workers_told() -> None:
    seen = {"workers_alike": 2, "alike_after": True}
    assert _said(_copied(replace(DRAW, **seen), init=True)) == (
        "Your worker_init_fn runs, and `draw` (train.py:11) is in the same state in both workers all the "
        "same: what is drawn from it comes 2 times.",
        False,
    )
    assert _said(_copied(replace(RNG, workers_alike=3), workers=4)) == (
        "`rng` of Waves (train.py:9) is in the same state in 3 of 4 workers, a copy each, made before they "
        "started: what is drawn from it comes 3 times.",
        True,
    )
    assert _said(_copied(replace(RNG, made=""), workers=4)) == (
        "Each of 4 workers has a copy of `rng` of Waves, made before they started, in the same state: what "
        "is drawn from it comes 4 times.",
        True,
    )


def test_copies_stand_before_what_is_not_known_and_need_two_workers() -> None:
    judgement = judge(run(_copied(RNG, init=True)))
    assert "data.worker_seed" not in abstained(judgement)
    assert "data.worker_seed" in found(run(_copied(RNG, init=True)))
    assert "data.worker_seed" not in found(run(_copied(RNG, workers=1)))
