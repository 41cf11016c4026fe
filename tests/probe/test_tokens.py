"""What counts as tokens, and how they travel with the samples."""

from collections import UserDict

import pytest
import torch

from perftui.trainer.probe.batch_signature import BatchBook
from perftui.trainer.probe.batch_sizes import SAMPLES_MAX, samples_in, tokens_in, with_samples
from perftui.trainer.probe.samples import SampleCounter
from perftui.trainer.probe.tokens import padding_of

pytestmark = pytest.mark.torch

IDS = torch.zeros(4, 16, dtype=torch.long)
SHORT = torch.zeros(4, 5, dtype=torch.long)
LABELS = torch.zeros(4, dtype=torch.long)
IMAGES = torch.zeros(4, 3, 8, 8)


class Encoding(UserDict[str, torch.Tensor]):
    pass


@pytest.mark.parametrize(
    ("batch", "tokens"),
    [
        (IDS, 64),
        ((IDS, IDS), 64),
        ([SHORT, SHORT], 20),
        ((IDS, LABELS), 64),
        ((IDS.int(), IDS), 64),
        ({"input_ids": IDS, "attention_mask": IDS, "labels": LABELS}, 64),
        ({"labels": LABELS, "input_ids": SHORT}, 20),
        ({"features": torch.zeros(4, 3), "tokens": IDS}, 64),
        (Encoding({"input_ids": IDS}), 64),
        ({"pixel_values": IMAGES, "input_ids": IDS}, 64),
        ({"input_ids": torch.zeros(4, 2, 16, dtype=torch.long)}, 128),
        ([{"input_ids": IDS}, "text"], 64),
    ],
)
def test_tokens_of_a_batch(batch: object, tokens: int) -> None:
    counter = SampleCounter(4)
    for _ in range(3):
        size = counter.count(batch)
        assert (samples_in(size), tokens_in(size)) == (4, tokens)


@pytest.mark.parametrize(
    "batch",
    [
        LABELS,
        (IMAGES, LABELS),
        (IMAGES, IDS),
        (SHORT, LABELS),
        (IDS, torch.zeros(4, 3)),
        (torch.zeros(4, 784, dtype=torch.uint8), LABELS),
        (LABELS, LABELS, torch.zeros(4)),
        (torch.zeros(4, 16), IDS),
        {"input_ids": ["a", "b", "c", "d"], "x": IMAGES},
        {"mask": torch.zeros(4, 8, 8, dtype=torch.long), "image": IMAGES},
        {"input_ids": torch.zeros(4, 16)},
    ],
)
def test_no_tokens(batch: object) -> None:
    size = SampleCounter(4).count(batch)
    assert (samples_in(size), tokens_in(size)) == (4, -1)


def test_tokens_follow_each_batchs_length() -> None:
    counter = SampleCounter(4)
    lengths = (16, 3, 40)
    batches = [{"input_ids": torch.zeros(4, length, dtype=torch.long)} for length in lengths]
    assert [tokens_in(counter.count(batch)) for batch in batches] == [64, 12, 160]
    assert tokens_in(counter.count((IMAGES, LABELS))) == -1
    assert tokens_in(counter.count(batches[0])) == 64


def test_sizes_add_up_and_an_unknown_one_stays_unknown() -> None:
    counter = SampleCounter(4)
    total = counter.count(IDS) + counter.count(IDS)
    assert (samples_in(total), tokens_in(total)) == (8, 128)
    assert (samples_in(-1), tokens_in(-1), samples_in(7), tokens_in(7)) == (-1, -1, 7, -1)
    assert (samples_in(with_samples(total, 5)), tokens_in(with_samples(total, 5))) == (5, 128)
    assert with_samples(-1, 5) == 5
    assert SampleCounter(None).count(torch.empty(SAMPLES_MAX, device="meta")) == -1


def test_padding_is_what_the_mask_leaves_out() -> None:
    mask = torch.ones(2, 4, dtype=torch.long)
    mask[0, 2:] = 0
    assert padding_of({"input_ids": SHORT, "attention_mask": mask}) == 0.25
    assert padding_of([Encoding({"attention_mask": mask.bool()})]) == 0.25
    assert padding_of({"input_ids": IDS}) is None
    assert padding_of((IDS, LABELS)) is None
    on_a_device = torch.ones(2, 4, device="meta")
    assert padding_of({"attention_mask": on_a_device}) is None, "never asked of a device"


def test_padding_of_the_batches_that_were_looked_at() -> None:
    book = BatchBook(lambda key: key)
    for padded in (0, 2):
        mask = torch.ones(2, 4)
        mask[0, 4 - padded :] = 0
        book.look(3, {"input_ids": SHORT, "attention_mask": mask})
    book.look(4, (IMAGES, LABELS))
    facts, _ = book.read(3)
    plain, _ = book.read(4)
    assert facts is not None
    assert facts.padding_share == 0.125
    assert plain is not None
    assert plain.padding_share is None
