"""Scripts that do what scripts seldom do: each is the same training with and without us."""

import pytest

from .conftest import Desk
from .odd_scripts import ODD, odd_script
from .unharmed import assert_unharmed

pytestmark = [pytest.mark.torch, pytest.mark.slow]

WAITS = "waits for all its threads to end"
QUICK = {"closes all descriptors again and again"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else pytest.mark.long) for name in ODD]
)
def test_the_training_is_the_same(desk: Desk, name: str) -> None:
    ours = assert_unharmed(desk, desk.script(odd_script(name)))
    assert ours.code == ODD[name][1], ours.error
    if name in QUICK:  # the descriptors were closed 57 times, and every step has come
        (run,) = desk.runs()
        (rank,) = desk.status(run["run_id"])["ranks"]
        assert rank["steps"] == 400


@pytest.mark.parametrize(
    "name", ["clears its environment", "has no ZeroMQ", "waits for all its threads to end"]
)
def test_every_step_of_it_is_seen(desk: Desk, name: str) -> None:
    assert_unharmed(desk, desk.script(odd_script(name)))
    (run,) = desk.runs()
    (rank,) = desk.status(run["run_id"])["ranks"]
    assert rank["steps"] == 100


def test_a_probe_that_could_not_be_loaded_is_loaded_at_the_next_attempt(desk: Desk) -> None:
    ours = assert_unharmed(desk, desk.script(odd_script("breaks an import of the probe, once")))
    assert ours.code == 0, ours.error
    (run,) = desk.runs()
    (rank,) = desk.status(run["run_id"])["ranks"]
    assert rank["steps"] == 200
