"""`data.same_order` by the indices that epochs begin with, and orders that are meant to be as they are."""

import msgspec.structs
import pytest

from perftui.ipc.facts import RankFacts
from perftui.ipc.loader_facts import SamplingFacts
from perftui.trainer.diagnosis import POLICY, judge

from .made import abstained, facts, found, rank, remedy_of, run

_CODE = "data.same_order"


def _dealt(**changes: object) -> RankFacts:
    made = SamplingFacts(
        loader=0,
        sampler="Stratified",
        batch_sampler="BatchSampler",
        epochs_begun=5,
        orders_alike=5,
        order_batches=32,
        order_samples=256,
        draws=True,
    )
    return facts(sampling=msgspec.structs.replace(made, **changes))


@pytest.mark.parametrize(
    ("changes", "seen"),
    [
        ({}, True),
        ({"orders_alike": POLICY.epochs_in_order}, True),
        ({"orders_alike": POLICY.epochs_in_order - 1}, False),
        ({"orders_alike": None}, False),
        ({"order_batches": POLICY.order_batches}, True),
        ({"order_batches": POLICY.order_batches - 1}, False),
        ({"order_samples": POLICY.order_samples}, True),
        ({"order_samples": POLICY.order_samples - 1}, False),
        ({"order_in_line": True}, False),
        ({"shuffle": False}, False),
        ({"draws": False}, False),
        ({"draws": None}, False),
        ({"draws": None, "shuffle": True}, True),
    ],
)
def test_epochs_that_asked_for_the_same_samples(changes: dict[str, object], seen: bool) -> None:
    judged = found(run(rank(facts=_dealt(**changes))))
    assert (_CODE in judged) is seen


def test_what_is_said_of_it() -> None:
    finding = found(run(rank(facts=_dealt())))[_CODE]
    assert finding.sentence == (
        "Stratified deals every epoch in the same order: the last 5 epochs asked for the same samples in "
        "their first 32 batches."
    )
    assert (finding.severity, finding.share, finding.rank) == ("warning", 0.0, None)
    assert "__iter__" in (remedy_of(finding).advice or "")
    assert finding.unsure is not None
    assert found(run(rank(facts=_dealt(shuffle=True))))[_CODE].unsure is None
    batches = found(run(rank(facts=_dealt(batch_sampler="Buckets"))))[_CODE]
    assert batches.sentence.startswith("Buckets deals")


@pytest.mark.parametrize("draws", [None, False])
def test_an_order_by_length_may_be_meant(draws: bool | None) -> None:
    """Nothing draws: the order may be one by length, by time or by difficulty."""
    assert "may be meant so" in abstained(judge(run(rank(facts=_dealt(draws=draws)))))[_CODE]
    assert _CODE not in abstained(judge(run(rank(facts=_dealt(draws=draws, order_in_line=True)))))


def test_a_distributed_sampler_is_told_of_its_epoch_and_others_by_what_they_ask_for() -> None:
    spread = _dealt(distributed=True, shuffle=True, set_epoch=False)
    assert "set_epoch was not called" in found(run(rank(facts=spread)))[_CODE].sentence
    own = _dealt(distributed=True, shuffle=True, set_epoch=True)
    assert "asked for the same samples" in found(run(rank(facts=own)))[_CODE].sentence
    seeded = _dealt(shuffle=True, epochs_alike=4)
    assert "same random state" in found(run(rank(facts=seeded)))[_CODE].sentence
