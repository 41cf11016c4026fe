"""What holds for every framework alike: counts, epochs, boundaries, waits, phases, validations, checkpoints.

What is peculiar to one stands in a module of its own, as does its script.
"""

from dataclasses import dataclass, field

import pytest

from . import test_accelerate, test_fastai, test_hf_trainer, test_lightning, test_torchdata
from .checks import (
    assert_boundaries,
    assert_checkpoints,
    assert_counts,
    assert_epochs,
    assert_phases,
    assert_validations,
    assert_waits,
)
from .conftest import Watched
from .needed import needs
from .seen import Seen

ONE_EACH = [1] * 16
THREE_EACH = [3, 3, 2] * 2
"""The last step of an epoch of eight batches has two."""


@dataclass(frozen=True)
class Training:
    """A script that trains for two epochs of eight batches."""

    packages: tuple[str, ...]
    script: str
    options: dict[str, object] = field(default_factory=dict[str, object])
    micro_batches: list[int] = field(default_factory=lambda: ONE_EACH)
    validations: int = 2
    checkpoints: int = 2


ACCELERATE, TRANSFORMERS = ("accelerate", "safetensors"), ("transformers", "accelerate")
THREE = {"arguments": {"gradient_accumulation_steps": 3}}
TRAININGS = {
    "accelerate": Training(ACCELERATE, test_accelerate.SCRIPT, {"validate": True}),
    "accelerate, accumulated": Training(
        ACCELERATE, test_accelerate.SCRIPT, {"accumulate": 3}, THREE_EACH, 0, 0
    ),
    "transformers": Training(TRANSFORMERS, test_hf_trainer.SCRIPT, test_hf_trainer.EACH_EPOCH),
    "transformers, accumulated": Training(TRANSFORMERS, test_hf_trainer.SCRIPT, {**THREE}, THREE_EACH, 0, 0),
    "lightning": Training(("lightning",), test_lightning.SCRIPT, validations=3),
    "fastai": Training(("fastai",), test_fastai.SCRIPT, checkpoints=1),
    "torchdata": Training(("torchdata",), test_torchdata.PLAIN),
}
each_training = pytest.mark.parametrize(
    "training",
    [pytest.param(one, id=name, marks=needs(*one.packages)) for name, one in TRAININGS.items()],
)


def run(watched: Watched, training: Training) -> Seen:
    return watched.run(training.script, training.options or None)


@each_training
def test_samples_and_micro_batches_are_those_that_are_trained_on(
    watched: Watched, training: Training
) -> None:
    assert_counts(run(watched, training), training.micro_batches)


@each_training
def test_epochs_boundaries_and_waits(watched: Watched, training: Training) -> None:
    seen = run(watched, training)
    assert_epochs(seen)
    assert_boundaries(seen)
    assert_waits(seen)
    assert_phases(seen)


@each_training
def test_validations_and_checkpoints(watched: Watched, training: Training) -> None:
    seen = run(watched, training)
    assert (len(seen.owns[0].validations), len(seen.owns[0].saves)) == (
        training.validations,
        training.checkpoints,
    )
    assert_validations(seen)
    assert_checkpoints(seen)


@each_training
def test_phases_of_the_run_sum_to_its_time(watched: Watched, training: Training) -> None:
    seen = run(watched, training)
    seconds = seen.rank()["phases_s"]
    assert sum(seconds.values()) == pytest.approx(seen.summary["elapsed_s"], rel=0.01)
    told = {
        kind: sum(one.duration_ns for one in seen.events(kind)) / 1e9 for kind in ("validation", "checkpoint")
    }
    assert {kind: seconds[kind] for kind in told} == pytest.approx(told, abs=0.002)
