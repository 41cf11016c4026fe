"""Scripts that do what scripts seldom do: each is the same training with and without us."""

import sys

import pytest

from .conftest import Desk
from .odd_scripts import ODD, odd_script
from .unharmed import assert_unharmed

pytestmark = [pytest.mark.torch, pytest.mark.slow]

QUICK = {"closes all descriptors again and again"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else pytest.mark.long) for name in ODD]
)
def test_the_training_is_the_same(desk: Desk, name: str) -> None:
    ours = assert_unharmed(desk, desk.script(odd_script(name)))
    assert ours.code == ODD[name][1], ours.error


def test_it_is_seen_all_the_same(desk: Desk) -> None:
    """The descriptors were closed 57 times; every step has come."""
    script = desk.script(odd_script("closes all descriptors again and again"))
    desk.perftui("run", "--no-tui", "--json", "out.json", "--", sys.executable, str(script))
    (run,) = desk.runs()
    (rank,) = desk.status(run["run_id"])["ranks"]
    assert rank["steps"] == 400
