"""The Trainer of transformers: batches of a step fetched up front, one more ahead, saves of many files."""

import sys

import pytest

from .checks import (
    assert_apart,
    assert_boundaries,
    assert_checkpoints,
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

pytestmark = needs("transformers", "accelerate")

SCRIPT = """
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainerCallback, TrainingArguments

WORDS = 64

def sentence(index):
    words = torch.randint(0, WORDS, (16,), generator=torch.Generator().manual_seed(index))
    return {"input_ids": words, "labels": words}

class Stamps(TrainerCallback):
    def on_epoch_begin(self, *_, **__):
        stamp("epochs")
    def on_step_end(self, *_, **__):
        stamp("steps")

class Timing(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **more):
        loss, outputs = super().compute_loss(model, inputs, return_outputs=True, **more)
        return (slow(loss), outputs) if return_outputs else slow(loss)
    def get_batch_samples(self, *args, **kwargs):
        with Timed("nexts"):
            return super().get_batch_samples(*args, **kwargs)
    def evaluate(self, *args, **kwargs):
        with Timed("validations"):
            return super().evaluate(*args, **kwargs)
    def _save_checkpoint(self, *args, **kwargs):
        with Timed("saves"):
            super()._save_checkpoint(*args, **kwargs)

config = LlamaConfig(
    vocab_size=WORDS,
    hidden_size=options.get("width", 16),
    intermediate_size=32,
    num_hidden_layers=2,
    num_attention_heads=2,
    num_key_value_heads=2,
    max_position_embeddings=32,
)
arguments = {
    "output_dir": "saved",
    "num_train_epochs": 2,
    "per_device_train_batch_size": 4,
    "per_device_eval_batch_size": 4,
    "eval_strategy": "no",
    "save_strategy": "no",
    "report_to": [],
    "use_cpu": True,
    "disable_tqdm": True,
}

def train(resume=None, **more):
    data, validation = Data(32, make=sentence), Data(12, "validation", sentence)
    trainer = Timing(
        model=LlamaForCausalLM(config),
        args=TrainingArguments(**{**arguments, **options.get("arguments", {}), **more}),
        train_dataset=Stream(data, 4) if options.get("stream") else data,
        eval_dataset=validation,
        data_collator=collate,
        callbacks=[Stamps()],
    )
    trainer.train(resume_from_checkpoint=resume)

if options.get("resume"):
    train(max_steps=5, save_strategy="steps", save_steps=5)
    train("saved/checkpoint-5")
else:
    train()
tell()
"""


EACH_EPOCH: dict[str, object] = {"arguments": {"eval_strategy": "epoch", "save_strategy": "epoch"}}
"""A validation and a checkpoint each."""


@pytest.fixture(scope="module")
def plain(watched: Watched) -> Seen:
    return watched.run(SCRIPT, EACH_EPOCH)


def test_waits_with_one_batch_ahead(plain: Seen) -> None:
    assert_one_batch_ahead(plain)


def test_tokens_are_those_of_the_batches_that_are_trained_on(plain: Seen) -> None:
    assert [count for batch in plain.batches() for count in batch.tokens] == [4 * 16] * 16
    assert plain.rank()["tokens_per_s"] == pytest.approx(16 * plain.rank()["samples_per_s"])


def test_a_checkpoint_after_a_validation_is_not_its_time(plain: Seen) -> None:
    assert_apart(plain)
    for event, validation in zip(plain.events("validation"), plain.owns[0].validations, strict=True):
        assert validation.holds(event.at_ns + event.duration_ns)


def test_the_weights_are_written_by_safetensors_and_their_time_counts(watched: Watched) -> None:
    arguments = {"max_steps": 4, "save_strategy": "steps", "save_steps": 2, "save_only_model": True}
    seen = watched.run(SCRIPT, {"width": 1536, "arguments": arguments})
    _, save = seen.owns[0].saves  # the first one imports much
    assert [event.text for event in seen.events("checkpoint")] == ["model.safetensors and 1 more"] * 2
    assert covered(save, seen, "checkpoint") >= 0.8


def test_evaluation_at_the_start_and_within_an_epoch(watched: Watched) -> None:
    """With gradient checkpointing, whose backward runs one inside another."""
    arguments = {
        "eval_on_start": True,
        "eval_strategy": "steps",
        "eval_steps": 3,
        "max_steps": 11,
        "activation_checkpointing": True,
    }
    seen = watched.run(SCRIPT, {"arguments": arguments})
    assert [validation.steps for validation in seen.owns[0].validations] == [0, 3, 6, 9, 11]
    assert len(seen.steps()) == len(seen.owns[0].steps) == 11
    assert_epochs(seen)
    assert_boundaries(seen)
    assert_waits(seen)
    assert_phases(seen)
    assert_validations(seen)


def test_a_resumed_training_counts_what_it_does(watched: Watched) -> None:
    seen = watched.run(SCRIPT, {"resume": True})
    assert len(seen.owns[0].epochs) == 3, "one of the first trainer, the rest of it and one more"
    assert len(seen.steps()) == len(seen.owns[0].steps) == 5 + 11
    assert_epochs(seen)
    assert_boundaries(seen)
    assert_waits(seen)


def test_two_ranks_by_torchrun(watched: Watched) -> None:
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    seen = watched.run(SCRIPT, {"arguments": {"save_strategy": "epoch"}}, *torchrun)
    assert [one["rank"] for one in seen.summary["ranks"]] == [0, 1]
    for rank in (0, 1):
        assert len(seen.steps(rank)) == len(seen.owns[rank].steps) == 8
        assert_epochs(seen, rank)
        assert_boundaries(seen, rank)
        assert_waits(seen, rank)
        assert_phases(seen, rank)
        assert_checkpoints(seen, rank)


def test_workers_that_a_setting_asks_for_are_started(watched: Watched, plain: Seen) -> None:
    name = workers_setting(plain)
    assert_two_workers(watched.run(SCRIPT, setting=f"{name}=2"), name)
