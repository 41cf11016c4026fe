"""Lightning: sanity check, closures inside the optimizer's step, its own read-ahead of streams, two ranks."""

import pytest

from .checks import (
    assert_apart,
    assert_boundaries,
    assert_checkpoints,
    assert_counts,
    assert_epochs,
    assert_one_batch_ahead,
    assert_phases,
    assert_two_workers,
    assert_validations,
    assert_waits,
    covered,
    workers_setting,
)
from .conftest import Watched
from .needed import needs
from .seen import Seen

pytestmark = needs("lightning")

SCRIPT = """
import lightning
from lightning.pytorch.callbacks import Callback, ModelCheckpoint
from lightning.pytorch.profilers import PassThroughProfiler

class Nexts(PassThroughProfiler):
    def start(self, action):
        self.begin = perf_counter_ns()
    def stop(self, action):
        if action == "[_TrainingEpochLoop].train_dataloader_next":
            own["nexts"].append([self.begin, perf_counter_ns()])

class Stamps(Callback):
    batches = 0
    def on_train_epoch_start(self, *_):
        stamp("epochs")
    def on_train_batch_end(self, trainer, *_):
        if trainer.global_step > len(own["steps"]) * options.get("optimizers", 1):
            stamp("steps")
    def on_validation_start(self, *_):
        self.validation = Timed("validations")
        self.validation.__enter__()
    def on_validation_end(self, *_):
        self.validation.__exit__()
    on_test_start, on_test_end = on_validation_start, on_validation_end

class Saves(ModelCheckpoint):
    def _save_checkpoint(self, trainer, path):
        with Timed("saves"):
            super()._save_checkpoint(trainer, path)

class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.nets = nn.ModuleList([nn.Linear(8, 2) for _ in range(options.get("optimizers", 1))])
        self.register_buffer("ballast", torch.zeros(options.get("ballast", 1)))
        self.automatic_optimization = not options.get("manual")
    def loss(self, net, batch):
        return slow(nn.functional.cross_entropy(net(batch[0]), batch[1]))
    def training_step(self, batch, number):
        if self.automatic_optimization:
            return self.loss(self.nets[0], batch)
        for net, optimizer in zip(self.nets, self.optimizers()):
            optimizer.zero_grad()
            self.manual_backward(self.loss(net, batch))
            optimizer.step()
    def validation_step(self, batch, number):
        self.log("loss", self.loss(self.nets[0], batch), sync_dist=True)
    test_step = validation_step
    def configure_optimizers(self):
        if options.get("lbfgs"):
            return torch.optim.LBFGS(self.nets[0].parameters(), max_iter=3)
        first = torch.optim.SGD(self.nets[0].parameters(), 0.1)
        return first if self.automatic_optimization else [first, torch.optim.Adam(self.nets[1].parameters())]

def train():
    data, validation = Data(32), Data(12, "validation")
    source = Stream(data, 4) if options.get("stream") else data
    trainer = lightning.Trainer(
        accelerator="cpu",
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        profiler=Nexts(),
        callbacks=[Stamps(), Saves("saved", save_top_k=-1, every_n_epochs=1, filename="{epoch}-{step}")],
        **{"max_epochs": 2, **options.get("trainer", {})},
    )
    model, validation_loader = Model(), DataLoader(validation, 4, collate_fn=collate)
    if options.get("around"):
        trainer.validate(model, validation_loader, verbose=False)
    trainer.fit(model, DataLoader(source, 4, collate_fn=collate), validation_loader)
    if options.get("around"):
        trainer.test(model, validation_loader, verbose=False)
    tell()

if __name__ == "__main__":
    train()
"""


@pytest.fixture(scope="module")
def plain(watched: Watched) -> Seen:
    return watched.run(SCRIPT)


def test_the_sanity_check_is_a_validation(plain: Seen) -> None:
    assert [event.step for event in plain.events("validation")] == [0, 8, 16]


def test_checkpoints_have_their_names(plain: Seen) -> None:
    assert [event.text for event in plain.events("checkpoint")] == [
        "epoch=0-step=8.ckpt",
        "epoch=1-step=16.ckpt",
    ]


def test_a_checkpoint_after_a_validation_is_not_its_time(plain: Seen) -> None:
    """Lightning never asks for the end of a loader whose length it knows."""
    assert_apart(plain)


def test_the_optimizers_share_is_without_the_closure_that_it_runs(plain: Seen) -> None:
    """Lightning gives forward and backward to `optimizer.step`: there they take most of it."""
    shares = plain.rank()["shares"]
    assert shares["optimizer"] < shares["backward"]


@pytest.fixture(scope="module")
def accumulated(watched: Watched) -> Seen:
    return watched.run(SCRIPT, {"trainer": {"accumulate_grad_batches": 3}})


def test_accumulation_is_micro_batches_and_the_last_of_an_epoch_has_fewer(accumulated: Seen) -> None:
    assert_counts(accumulated, [3, 3, 2] * 2)
    assert_epochs(accumulated)
    assert_boundaries(accumulated)
    assert_waits(accumulated)
    assert_validations(accumulated)


def test_the_last_micro_batch_runs_inside_the_optimizers_step_and_counts_too(accumulated: Seen) -> None:
    assert_phases(accumulated)


def test_validation_within_an_epoch_and_an_end_within_one(watched: Watched) -> None:
    limits = {"val_check_interval": 3, "max_steps": 11, "max_epochs": -1}
    seen = watched.run(SCRIPT, {"trainer": limits})
    assert [validation.steps for validation in seen.owns[0].validations] == [0, 3, 6, 11]
    assert_counts(seen, [1] * 11)
    assert_epochs(seen)
    assert_boundaries(seen)
    assert_waits(seen)
    assert_validations(seen)


def test_validations_that_follow_each_other_are_told_apart(watched: Watched) -> None:
    """`validate`, then the sanity check of `fit`; the last validation of `fit`, then `test`."""
    seen = watched.run(SCRIPT, {"around": True})
    assert [validation.steps for validation in seen.owns[0].validations] == [0, 0, 8, 16, 16]
    assert_counts(seen, [1] * 16)
    assert_waits(seen)
    assert_validations(seen)


@pytest.fixture(scope="module")
def streamed(watched: Watched) -> Seen:
    return watched.run(SCRIPT, {"stream": True})


def test_a_stream_is_read_one_batch_ahead_and_each_step_has_the_wait_that_lies_in_it(streamed: Seen) -> None:
    assert_one_batch_ahead(streamed)
    assert_epochs(streamed)
    assert_boundaries(streamed)
    assert_waits(streamed)
    assert_validations(streamed)


def test_samples_of_a_stream_are_those_that_are_trained_on(streamed: Seen) -> None:
    assert_counts(streamed, [1] * 16)


def test_two_optimizers_by_hand_are_one_step(watched: Watched) -> None:
    seen = watched.run(SCRIPT, {"manual": True, "optimizers": 2})
    assert_counts(seen, [1] * 16)
    assert_epochs(seen)
    assert_boundaries(seen)
    assert_waits(seen)
    assert_phases(seen)
    assert_validations(seen)


@pytest.fixture(scope="module")
def repeated(watched: Watched) -> Seen:
    """LBFGS runs its closure several times a step."""
    return watched.run(SCRIPT, {"lbfgs": True})


def test_a_closure_that_runs_several_times_is_one_step(repeated: Seen) -> None:
    assert len(repeated.owns[0].backwards) > 16
    assert_counts(repeated, [1] * 16)
    assert_waits(repeated)


def test_forward_and_backward_of_each_run_of_a_closure_count(repeated: Seen) -> None:
    assert_phases(repeated)


def test_the_duration_of_a_checkpoint_is_that_of_the_save(watched: Watched) -> None:
    """Lightning serialises into memory with `torch.save` and writes the bytes itself."""
    trainer = {"max_epochs": 1, "limit_val_batches": 0}
    seen = watched.run(SCRIPT, {"ballast": 16 << 20, "trainer": trainer})
    (save,) = seen.owns[0].saves
    assert covered(save, seen, "checkpoint") >= 0.8


def test_two_ranks_by_ddp(watched: Watched) -> None:
    seen = watched.run(SCRIPT, {"trainer": {"strategy": "ddp", "devices": 2}})
    assert [one["rank"] for one in seen.summary["ranks"]] == [0, 1]
    for rank in (0, 1):
        assert_counts(seen, [1] * 8, rank)
        assert_epochs(seen, rank)
        assert_boundaries(seen, rank)
        assert_waits(seen, rank)
        assert_validations(seen, rank)
    assert_checkpoints(seen, 0)
    assert seen.events("checkpoint", 1) == []


def test_workers_that_a_setting_asks_for_are_started(watched: Watched, plain: Seen) -> None:
    name = workers_setting(plain)
    assert_two_workers(watched.run(SCRIPT, setting=f"{name}=2"), name)
