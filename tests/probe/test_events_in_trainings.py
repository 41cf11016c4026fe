"""Validations and checkpoints of real trainings: how many there are, and in which step."""

from typing import TYPE_CHECKING

import pytest

from perftui.ipc.messages import FLAG_LOADER_BOUNDARY, Goodbye, RankEvent

from .training_scripts import PREAMBLE

if TYPE_CHECKING:
    from tests.probe.conftest import Hub, Outcome

pytestmark = [pytest.mark.torch, pytest.mark.slow]

LOADERS = (
    PREAMBLE
    + """
loader, val = DataLoader(Data(16), batch_size=4), DataLoader(Data(8), batch_size=4)

@torch.no_grad()
def validate():
    for x, y in val:
        model(x)
"""
)


def events_of(outcome: "Outcome", kind: str) -> list[tuple[str, int]]:
    assert (outcome.exit_code, outcome.stderr) == (0, "")
    assert outcome.of(Goodbye)[0].errors == 0
    events = sorted(outcome.of(RankEvent), key=lambda event: event.at_ns)
    return [(event.text, event.step) for event in events if event.event == kind]


def test_events_lie_in_the_right_step_also_while_it_is_not_known_what_bounds_steps(hub: "Hub") -> None:
    """An optimizer of the script's own, so that steps are held back until the end of so short a run."""
    outcome = hub.train(
        LOADERS
        + """
for epoch in range(3):
    for x, y in loader:
        nn.functional.cross_entropy(model(x), y).backward()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter -= 0.1 * parameter.grad
                parameter.grad = None
    validate()
    torch.save(model.state_dict(), f"{epoch}.pt")
"""
    )
    assert outcome.steps() == 12
    assert all(flags & FLAG_LOADER_BOUNDARY for flags in outcome.column("flags"))
    assert events_of(outcome, "validation") == [("2 batches", 4), ("2 batches", 8), ("2 batches", 12)]
    assert events_of(outcome, "checkpoint") == [("0.pt", 4), ("1.pt", 8), ("2.pt", 12)]


def test_validations_in_a_row_and_files_in_a_row(hub: "Hub") -> None:
    outcome = hub.train(
        LOADERS
        + """
for epoch in range(2):
    for batch in loader:
        step(batch)
    validate()
    validate()
    for name in ("model.pt", "optimizer.pt", "scheduler.pt"):
        torch.save(optimizer.state_dict(), name)
"""
    )
    assert events_of(outcome, "validation") == [("2 batches", 4)] * 2 + [("2 batches", 8)] * 2
    assert events_of(outcome, "checkpoint") == [("model.pt and 2 more", 4), ("model.pt and 2 more", 8)]
    spans = {
        kind: [(e.at_ns, e.at_ns + e.duration_ns) for e in outcome.of(RankEvent) if e.event == kind]
        for kind in ("validation", "checkpoint")
    }
    for begin_ns, end_ns in spans["validation"]:
        assert not [at_ns for at_ns, _ in spans["checkpoint"] if begin_ns <= at_ns < end_ns]


@pytest.mark.parametrize(
    "how", ["import torch.distributed.checkpoint as dcp", "from torch.distributed import checkpoint as dcp"]
)
def test_distributed_checkpoints_are_one_each(hub: "Hub", how: str) -> None:
    outcome = hub.train(
        LOADERS
        + how
        + """
import warnings
warnings.simplefilter("ignore")
for epoch in range(2):
    for batch in loader:
        step(batch)
    dcp.save({"model": model.state_dict(), "epoch": epoch}, checkpoint_id=f"saved/epoch-{epoch}")
"""
    )
    assert events_of(outcome, "checkpoint") == [("epoch-0", 4), ("epoch-1", 8)]


def test_a_rank_whose_batches_come_from_elsewhere_counts_its_steps(hub: "Hub") -> None:
    """It makes an iterator at each epoch, as the others do, and is sent what one of them fetches."""
    outcome = hub.train(
        LOADERS
        + """
for epoch in range(2):
    iterator = iter(loader)
    for _ in range(4):
        step((torch.zeros(4, 8), torch.zeros(4, dtype=torch.long)))
"""
    )
    assert outcome.steps() == 8
    assert outcome.column("epoch") == [0] * 4 + [1] * 4
