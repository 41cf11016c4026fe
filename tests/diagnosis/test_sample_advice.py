"""Advice on samples fits what the batches are: nothing of pictures to who trains on text."""

import pytest

from perftui.ipc.facts import BatchFacts, BatchSignature, TensorFacts
from perftui.ipc.loader_facts import LoadingFacts
from perftui.trainer.diagnosis import POLICY
from perftui.trainer.diagnosis.sample_advice import cheaper_samples, fewer_bytes, kind_of
from perftui.trainer.diagnosis.signals import RankSignals

from .made import facts, rank

WORDS = {
    "pictures": ("decoded and resized", "decoder", "augmentations"),
    "tokens": ("token ids", "tokenizer"),
    "numbers": ("same in every epoch", "__getitems__"),
    "unknown": ("same in every epoch", "__getitems__"),
}


def _rank(*tensors: tuple[list[int], str], **more: object) -> RankSignals:
    made = [TensorFacts(shape=shape, dtype=dtype, device="cpu") for shape, dtype in tensors]
    batch = BatchFacts(looked=1, newest=BatchSignature(tensors=made), distinct_shapes=1) if made else None
    return rank(facts=facts(batch=batch, **more))


LABELS = ([32], "int64")


@pytest.mark.parametrize(
    ("tensors", "kind"),
    [
        ([([32, 3, 224, 224], "float32"), LABELS], "pictures"),
        ([([32, 224, 224, 3], "uint8"), LABELS], "pictures"),
        ([([4, 16, 3, 112, 112], "float32")], "pictures"),  # clips
        ([([4, 3, 16, 112, 112], "float32")], "pictures"),
        ([([64, 1, 8, 8], "float32")], "pictures"),
        ([([64, 1, 7, 7], "float32")], "numbers"),  # at the threshold
        ([([64, 2, 64, 64], "float32")], "numbers"),  # no picture has two channels
        ([([8, 1024], "int64"), ([8, 1024], "int64")], "tokens"),
        ([([8, 1024], "torch.int64")], "tokens"),
        ([([32, 1], "int64"), ([32, 20], "float32")], "numbers"),  # a column of labels
        ([([64, 2048], "float32"), LABELS], "numbers"),
        ([], "unknown"),
    ],
)
def test_what_a_batch_is(tensors: list[tuple[list[int], str]], kind: str) -> None:
    made = _rank(*tensors)
    assert kind_of(made) == kind
    advice = cheaper_samples(made, POLICY)
    assert all(word in advice for word in WORDS[kind])
    others = {word for words in WORDS.values() for word in words} - set(WORDS[kind])
    assert not any(word in advice for word in others)


@pytest.mark.parametrize(("collating", "spoken_of"), [(None, True), (0.29, False), (0.31, True)])
def test_collating_is_spoken_of_unless_it_is_known_to_be_little(
    collating: float | None, spoken_of: bool
) -> None:
    timed = None
    if collating is not None:
        timed = LoadingFacts(loader=0, batches=9, fetch_s=1 - collating, collate_s=collating)
    assert ("collate_fn" in cheaper_samples(_rank(loading=timed), POLICY)) is spoken_of


@pytest.mark.parametrize(
    ("tensors", "told", "untold"),
    [
        ([([32, 3, 64, 64], "float32")], ["(uint8)", "crop or resize"], []),
        ([([32, 3, 64, 64], "uint8")], ["copy fewer bytes: crop or resize before;"], ["convert"]),
        ([([8, 1024], "int64")], ["(int32 or smaller)"], ["uint8", "resize"]),
        ([([64, 2048], "float32")], ["the type they are stored in"], ["uint8", "resize"]),
        ([([64, 2048], "float16")], ["take a whole batch"], ["convert", "fewer bytes"]),
        ([], ["the type they are stored in"], ["uint8", "resize"]),
    ],
)
def test_fewer_bytes(tensors: list[tuple[list[int], str]], told: list[str], untold: list[str]) -> None:
    advice = fewer_bytes(_rank(*tensors))
    assert all(each in advice for each in [*told, "__getitems__"])
    assert not any(each in advice for each in untold)
