"""Accelerate: its loaders fetch one batch ahead of what they yield; dispatched ones on rank 0 alone."""

import sys

import pytest

from perftui.ipc.messages import FLAG_WAIT_UNKNOWN, UNUSUAL_FLAGS

from .checks import (
    assert_apart,
    assert_boundaries,
    assert_checkpoints,
    assert_epochs,
    assert_never_shorter,
    assert_one_batch_ahead,
    assert_phases,
    assert_two_workers,
    assert_validations,
    assert_waits,
    workers_setting,
)
from .conftest import Watched
from .needed import needs
from .seen import Seen

pytestmark = needs("accelerate", "safetensors")

SCRIPT = """
from accelerate import Accelerator
from accelerate.utils import DataLoaderConfiguration

accelerator = Accelerator(
    cpu=True,
    gradient_accumulation_steps=options.get("accumulate", 1),
    dataloader_config=DataLoaderConfiguration(**options.get("loaders", {})),
)
data, validation = Data(32), Data(12, "validation")
model = nn.Linear(8, 2)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
source = Stream(data, 4) if options.get("stream") else data
model, optimizer, training_loader, validation_loader = accelerator.prepare(
    model,
    optimizer,
    DataLoader(source, 4, collate_fn=collate, num_workers=options.get("workers", 0)),
    DataLoader(validation, 4, collate_fn=collate),
)

def loss_of(batch):
    return slow(nn.functional.cross_entropy(model(batch[0]), batch[1]))

for epoch in range(2):
    stamp("epochs")
    model.train()
    for batch in batches_of(training_loader):
        with accelerator.accumulate(model):
            accelerator.backward(loss_of(batch))
            optimizer.step()
            optimizer.zero_grad()
        if accelerator.sync_gradients:
            stamp("steps")
    if options.get("validate"):
        model.eval()
        with torch.no_grad(), Timed("validations"):
            for batch in validation_loader:
                accelerator.gather_for_metrics(loss_of(batch))
        with Timed("saves"):
            accelerator.save_state("saved")
tell()
accelerator.end_training()
"""
LAUNCH = [
    sys.executable, "-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes=2",
    "--num_machines=1", "--main_process_port=0", "--mixed_precision=no", "--dynamo_backend=no",
]  # fmt: skip
"""`--multi_gpu` is how it starts several local ranks without MPI; the script takes the CPU."""


@pytest.fixture(scope="module")
def plain(watched: Watched) -> Seen:
    return watched.run(SCRIPT, {"validate": True})


def test_waits_with_one_batch_ahead(plain: Seen) -> None:
    assert_one_batch_ahead(plain)


def test_a_checkpoint_after_a_validation_is_not_its_time(plain: Seen) -> None:
    assert_apart(plain)


def test_waits_for_workers(watched: Watched) -> None:
    """The data set's clock runs elsewhere then; the one round `next` stays."""
    seen = watched.run(SCRIPT, {"workers": 1})
    own, steps = seen.owns[0], seen.steps()
    assert len(steps) == len(own.steps) == 16
    assert_epochs(seen)
    round_next = own.per_step(own.nexts)
    assert_never_shorter(round_next, [step.wait_ns for step in steps])
    assert sum(step.wait_ns for step in steps) >= 0.95 * sum(round_next)


@pytest.fixture(scope="module")
def stateful(watched: Watched) -> Seen:
    return watched.run(SCRIPT, {"validate": True, "loaders": {"use_stateful_dataloader": True}})


def test_waits_of_stateful_loaders(stateful: Seen) -> None:
    assert len(stateful.steps()) == len(stateful.owns[0].steps) == 16
    assert_boundaries(stateful)
    assert_waits(stateful)


def test_epochs_of_stateful_loaders(stateful: Seen) -> None:
    assert_epochs(stateful)


def test_validations_of_stateful_loaders(stateful: Seen) -> None:
    assert_validations(stateful)


def test_two_ranks_by_accelerate_launch(watched: Watched) -> None:
    seen = watched.run(SCRIPT, {"validate": True}, *LAUNCH)
    assert [one["rank"] for one in seen.summary["ranks"]] == [0, 1]
    for rank in (0, 1):
        assert len(seen.steps(rank)) == len(seen.owns[rank].steps) == 8
        assert_epochs(seen, rank)
        assert_boundaries(seen, rank)
        assert_waits(seen, rank)
        assert_phases(seen, rank)
        assert_validations(seen, rank)
        assert_checkpoints(seen, rank)


@pytest.fixture(scope="module")
def dispatched(watched: Watched) -> Seen:
    """Rank 0 reads the stream for both and sends each its part."""
    return watched.run(SCRIPT, {"stream": True}, *LAUNCH)


def test_the_rank_that_dispatches(dispatched: Seen) -> None:
    assert len(dispatched.steps(0)) == len(dispatched.owns[0].steps) == 8
    assert [step.step for step in dispatched.steps(0) if step.flags & UNUSUAL_FLAGS] == []
    assert_epochs(dispatched, 0)
    assert_boundaries(dispatched, 0)
    assert_waits(dispatched, 0)


def test_the_rank_that_is_dispatched_to_counts_its_steps(dispatched: Seen) -> None:
    assert dispatched.owns[1].fetches == []
    assert len(dispatched.steps(1)) == len(dispatched.owns[1].steps) == 8
    assert_epochs(dispatched, 1)
    assert_phases(dispatched, 1)


def test_the_rank_that_is_dispatched_to_has_no_wait_that_was_measured(dispatched: Seen) -> None:
    """It waits for the other rank's message: to say that it waited for nothing would be wrong."""
    assert all(step.flags & FLAG_WAIT_UNKNOWN for step in dispatched.steps(1))
    assert dispatched.rank(1)["shares"]["loader_wait"] is None


def test_workers_that_a_setting_asks_for_are_started(watched: Watched, plain: Seen) -> None:
    name = workers_setting(plain)
    assert_two_workers(watched.run(SCRIPT, setting=f"{name}=2"), name)
