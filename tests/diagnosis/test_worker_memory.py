"""Memory of loader workers that grows: copies of what they share with their rank, or what they keep."""

import pytest

from perftui.trainer.diagnosis import POLICY
from perftui.trainer.diagnosis.signals import WorkerGrowth

from .made import found, loader, rank, run, workers


@pytest.mark.parametrize(
    ("private", "seconds", "rise", "seen"),
    [
        (64.0, 60.0, 0.6, True),  # of two workers: 128 MiB together
        (63.0, 60.0, 0.6, False),
        (64.0, 60.0, 0.5, False),
        (64.0, 60.0, None, False),
        (64.0, POLICY.growth_s - 1, 0.9, False),
        (64.0, 170.0, 0.9, False),
    ],
)
def test_growth_of_what_workers_have_to_themselves(
    private: float, seconds: float, rise: float | None, seen: bool
) -> None:
    grown = WorkerGrowth(seconds=seconds, private_mib=private, rss_mib=3.0, rise=rise)
    made = rank(worker_growth=grown, workers=workers(2), loader=loader(num_workers=2))
    assert ("memory.host_growth" in found(run(made))) is seen


@pytest.mark.parametrize(("rss", "copied"), [(49.0, True), (51.0, False)])
def test_copies_of_shared_memory_are_told_from_what_a_worker_keeps(rss: float, copied: bool) -> None:
    grown = WorkerGrowth(seconds=30.0, private_mib=100.0, rss_mib=rss, rise=1.0)
    finding = found(run(rank(worker_growth=grown, workers=workers(2))))["memory.host_growth"]
    assert ("copies the dataset's Python objects" in finding.sentence) is copied
    assert finding.remedy is not None
    assert ("arrays" in (finding.remedy.advice or "")) is copied
