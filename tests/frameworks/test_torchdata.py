"""The StatefulDataLoader of torchdata, whose `__iter__` is its own; and optimizers that step in backward."""

import pytest

from .checks import (
    assert_boundaries,
    assert_counts,
    assert_never_shorter,
    assert_phases,
    assert_two_workers,
    assert_waits,
)
from .conftest import Watched
from .needed import needs
from .seen import Seen

pytestmark = needs("torchdata")

LOADERS = """
from torchdata.stateful_dataloader import StatefulDataLoader

data, validation = Data(32), Data(12, "validation")
training_loader = StatefulDataLoader(data, 4, collate_fn=collate, num_workers=options.get("workers", 0))
validation_loader = StatefulDataLoader(validation, 4, collate_fn=collate)
model = nn.Linear(8, 2)

def loss_of(batch):
    return slow(nn.functional.cross_entropy(model(batch[0]), batch[1]))
"""

PLAIN = (
    LOADERS
    + """
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for epoch in range(2):
    stamp("epochs")
    for batch in batches_of(training_loader):
        optimizer.zero_grad()
        loss_of(batch).backward()
        optimizer.step()
        stamp("steps")
    with torch.no_grad(), Timed("validations"):
        for batch in validation_loader:
            loss_of(batch)
    with Timed("saves"):
        torch.save({"model": model.state_dict(), "loader": training_loader.state_dict()}, "last.pt")
tell()
"""
)

IN_BACKWARD = (
    LOADERS
    + """
optimizers = {parameter: torch.optim.SGD([parameter], 0.1) for parameter in model.parameters()}

def update(parameter):
    optimizers[parameter].step()
    optimizers[parameter].zero_grad()

for parameter in model.parameters():
    parameter.register_post_accumulate_grad_hook(update)
for epoch in range(2):
    stamp("epochs")
    for batch in batches_of(training_loader):
        loss_of(batch).backward()
        stamp("steps")
tell()
"""
)


@pytest.fixture(scope="module")
def plain(watched: Watched) -> Seen:
    return watched.run(PLAIN)


def test_the_loader_is_described_so_that_a_remedy_can_be_offered(plain: Seen) -> None:
    assert plain.rank()["settings"]["loader.num_workers"] == 0
    lead = plain.summary["findings"][0]
    assert lead["code"] == "input.workers"
    assert lead["remedy"]["set"]["loader.num_workers"] >= 1


def test_starting_the_workers_is_wait_of_the_epochs_first_step(watched: Watched) -> None:
    seen = watched.run(PLAIN, {"workers": 1})
    own, steps = seen.owns[0], seen.steps()
    assert len(steps) == len(own.steps) == 16
    round_next = own.per_step(own.nexts)
    assert_never_shorter(round_next, [step.wait_ns for step in steps])
    for first in (0, 8):
        assert steps[first].wait_ns >= 0.9 * round_next[first]


def test_optimizers_that_step_inside_the_backward(watched: Watched) -> None:
    """One optimizer for each parameter, stepped by hooks as its gradient arrives."""
    seen = watched.run(IN_BACKWARD)
    assert_counts(seen, [1] * 16)
    assert_boundaries(seen)
    assert_waits(seen)
    assert_phases(seen)


def test_workers_that_a_setting_asks_for_are_started(watched: Watched) -> None:
    assert_two_workers(watched.run(PLAIN, setting="loader.num_workers=2"), "loader.num_workers")
