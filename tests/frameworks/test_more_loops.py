"""ignite's engine, Lightning's Fabric, and timm's loader whose one iterator lasts over all epochs."""

import pytest

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

pytestmark = needs("ignite", "lightning", "timm")

IGNITE = """
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from ignite.handlers import Checkpoint, DiskSaver
from ignite.metrics import Loss

data, validation = Data(32), Data(12, "validation")
loss = nn.functional.cross_entropy
model = nn.Linear(8, 2)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
trainer = create_supervised_trainer(
    model, optimizer, lambda y, t: slow(loss(y, t)), gradient_accumulation_steps=options.get("accumulate", 1)
)
evaluator = create_supervised_evaluator(model, {"loss": Loss(loss)})
save = Checkpoint({"model": model}, DiskSaver("saved", create_dir=True))

@trainer.on(Events.GET_BATCH_STARTED)
def _():
    trainer.next = Timed("nexts")
    trainer.next.__enter__()

@trainer.on(Events.GET_BATCH_COMPLETED)
def _():
    trainer.next.__exit__()

@trainer.on(Events.ITERATION_COMPLETED(every=options.get("accumulate", 1)))
def _():
    stamp("steps")

@trainer.on(Events.EPOCH_STARTED)
def _():
    stamp("epochs")

@trainer.on(Events.EPOCH_COMPLETED)
def _():
    with Timed("validations"):
        evaluator.run(DataLoader(validation, 4, collate_fn=collate))
    with Timed("saves"):
        save(trainer)

trainer.run(DataLoader(data, 4, collate_fn=collate), max_epochs=2)
tell()
"""

FABRIC = """
from lightning.fabric import Fabric

fabric = Fabric(accelerator="cpu", devices=1, precision="bf16-mixed")
fabric.launch()
model = nn.Linear(8, 2)
model, optimizer = fabric.setup(model, torch.optim.SGD(model.parameters(), 0.1))
loader = fabric.setup_dataloaders(DataLoader(Data(32), 4, collate_fn=collate))
for epoch in range(2):
    stamp("epochs")
    for images, labels in batches_of(loader):
        optimizer.zero_grad()
        fabric.backward(slow(nn.functional.cross_entropy(model(images), labels)))
        optimizer.step()
        stamp("steps")
    with Timed("saves"):
        fabric.save("last.ckpt", {"model": model})
tell()
"""

TIMM = """
import timm
from timm.data.loader import MultiEpochsDataLoader
from timm.optim import create_optimizer_v2

def image(index):
    return torch.full((3, 32, 32), index / 100), index % 2

model = timm.create_model("test_vit", img_size=32, num_classes=2)
optimizer = create_optimizer_v2(model, opt="adamw", lr=1e-3)
loader = MultiEpochsDataLoader(Data(32, make=image), 4, collate_fn=collate)
for epoch in range(2):
    stamp("epochs")
    for number, (images, labels) in enumerate(batches_of(loader)):
        slow(nn.functional.cross_entropy(model(images), labels)).backward()
        if number % 2:
            optimizer.step()
            optimizer.zero_grad()
            stamp("steps")
tell()
"""


@pytest.mark.parametrize("accumulate", [1, 4])
def test_ignite(watched: Watched, accumulate: int) -> None:
    seen = watched.run(IGNITE, {"accumulate": accumulate})
    assert_counts(seen, [accumulate] * (16 // accumulate))
    assert_epochs(seen)
    assert_boundaries(seen)
    assert_waits(seen)
    assert_phases(seen)
    assert_validations(seen)
    assert_checkpoints(seen)


def test_fabric(watched: Watched) -> None:
    seen = watched.run(FABRIC)
    assert_counts(seen, [1] * 16)
    assert_epochs(seen)
    assert_boundaries(seen)
    assert_waits(seen)
    assert_phases(seen)
    assert_checkpoints(seen)


@pytest.fixture(scope="module")
def timm_loop(watched: Watched) -> Seen:
    return watched.run(TIMM)


def test_timm_with_two_batches_a_step(timm_loop: Seen) -> None:
    assert_counts(timm_loop, [2] * 8)
    assert_boundaries(timm_loop)
    assert_waits(timm_loop)
    assert_phases(timm_loop)


def test_epochs_of_a_loader_whose_iterator_never_ends(timm_loop: Seen) -> None:
    assert_epochs(timm_loop)
