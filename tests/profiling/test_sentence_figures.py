"""The one sentence: what it says at its thresholds and when a check fails, from figures."""

import re

import msgspec
import pytest

from perftui.ipc.trace_report import (
    CopyFigures,
    SyncFigures,
    TrustCheck,
)
from perftui.trainer.profiling.sentence import rank_sentence, report_sentence
from perftui.trainer.profiling.thresholds import (
    COMPUTE_BOUND,
    LAUNCH_BOUND_DELAY_US,
    LAUNCH_BOUND_SHORT_SHARE,
    LOSS_LEADS,
    MANY_READS,
)
from tests.profiling.made_figures import figures, launched

ADVICE = re.compile(
    r"\b(should|try|increase|use|set|enable|consider|num_workers|pin_memory)\b", re.IGNORECASE
)


def test_a_loss_leads_from_its_threshold_on() -> None:
    at = figures(computed=1 - LOSS_LEADS, loader=LOSS_LEADS)
    below = figures(computed=1 - LOSS_LEADS + 0.001, loader=LOSS_LEADS - 0.001)
    assert rank_sentence(at).startswith("The GPU waited for the data loader for 20 % of this step;")
    assert rank_sentence(below).startswith("Compute-bound")


def test_compute_bound_from_its_threshold_on() -> None:
    half = (1 - COMPUTE_BOUND) / 2
    at = figures(computed=COMPUTE_BOUND, loader=half, host=half)
    below = figures(computed=COMPUTE_BOUND - 0.01, loader=half + 0.01, host=half)
    assert rank_sentence(at).startswith("Compute-bound")
    assert "no single loss dominates" in rank_sentence(below)


@pytest.mark.parametrize(
    ("delay_us", "short_share", "said"),
    [
        (LAUNCH_BOUND_DELAY_US - 0.01, LAUNCH_BOUND_SHORT_SHARE, "Launch-bound"),
        (LAUNCH_BOUND_DELAY_US, LAUNCH_BOUND_SHORT_SHARE, "Host-bound"),
        (LAUNCH_BOUND_DELAY_US - 0.01, LAUNCH_BOUND_SHORT_SHARE - 0.01, "Host-bound"),
    ],
)
def test_launch_bound_by_delay_and_short_launches(delay_us: float, short_share: float, said: str) -> None:
    report = figures(computed=0.4, host=0.6, launches=launched(delay_us, short_share))
    assert rank_sentence(report).startswith(said)


def test_short_gaps_are_the_host_s_where_it_is_launch_bound() -> None:
    report = figures(computed=0.5, host=0.2, queued=0.3)
    assert rank_sentence(report).startswith("The GPU was idle for 30 % of this step in short gaps")
    bound = msgspec.structs.replace(report, launches=launched(1, 1))
    assert rank_sentence(bound).startswith("Launch-bound: the GPU was idle for 50 % of this step")
    old = msgspec.structs.replace(report, queued_gap_share=None)
    assert rank_sentence(old).startswith("Host-bound: the GPU was idle for 50 % of this step")


def _reading(reads: int, *, latency: float, drained: float, host: float = 0.6) -> RankReport:
    """Return a window of one step with 100 launches, of which so many are reads of values."""
    report = figures(computed=0.4 - latency, host=host, drained=drained, launches=launched(1.0, 0.9))
    assert report.idle is not None
    assert report.launches is not None
    copy = CopyFigures(
        kind="DtoH (Device -> Pinned)", pageable=False, count=reads, total_us=reads * 1.4, mib=0.0, gib_s=0.0,
        exposed_us=0.0, per_step=reads,
    )  # fmt: skip
    wait = SyncFigures(
        call="cudaStreamSynchronize", operator="aten::_local_scalar_dense", where=None, count=reads,
        per_step=reads, total_us=1.0, share=0.1,
    )  # fmt: skip
    return msgspec.structs.replace(
        report,
        idle=msgspec.structs.replace(report.idle, launch_latency=latency),
        launches=msgspec.structs.replace(report.launches, count=100),
        memcpy=[copy],
        syncs=[wait],
    )


def test_values_that_are_read_one_by_one_are_no_launches() -> None:
    """By what waits have drained alone launching would lead: 0.3 against 0.3 and 0.2 of latency."""
    said = rank_sentence(_reading(80, latency=0.2, drained=0.3))
    assert said.startswith(
        "The GPU ran dry for 46 % of this step behind calls that wait for it "
        "(cudaStreamSynchronize in aten::_local_scalar_dense, 80 a step)"
    )


@pytest.mark.parametrize(("reads", "said"), [(50, "Launch-bound"), (51, "Host-bound")])
def test_launches_are_not_to_blame_where_most_of_them_are_reads(reads: int, said: str) -> None:
    """And the device idles most of all before others."""
    assert rank_sentence(_reading(reads, latency=0.1, drained=0.1)).startswith(said)


@pytest.mark.parametrize(("reads", "said"), [(MANY_READS - 1, "Launch-bound"), (MANY_READS, "The GPU ran")])
def test_a_few_reads_are_told_by_their_waits_alone(reads: int, said: str) -> None:
    """0.29 of the window against 0.31, or with 16 % of a latency of 0.1 against 0.294."""
    made = _reading(reads, latency=0.1, drained=0.29, host=0.5)
    assert rank_sentence(made).startswith(said)


def test_the_largest_loss_is_named() -> None:
    assert "data loader" in rank_sentence(figures(computed=0.3, loader=0.4, host=0.3))
    assert "Host-bound" in rank_sentence(figures(computed=0.3, loader=0.3, host=0.4))
    assert "ran dry" in rank_sentence(figures(computed=0.3, host=0.7, drained=0.4))
    assert "Communication" in rank_sentence(figures(computed=0.3, comm=0.4, host=0.3))


def failed(name: str, text: str, *suppresses: str) -> TrustCheck:
    return TrustCheck(name=name, passed=False, value=0.5, text=text, suppresses=list(suppresses))


def test_a_failed_check_takes_the_cause_away() -> None:
    doubt = failed("unlinked", "50% of device events have no launch in the trace", "idle")
    assert rank_sentence(figures(computed=0.3, loader=0.7, trust=[doubt])) == (
        "The GPU computed for 30 % of this step and was idle for 70 %; why cannot be told: "
        "50% of device events have no launch in the trace."
    )
    assert rank_sentence(figures(computed=0.3, comm=0.7, trust=[doubt])).startswith("Communication")
    passed = msgspec.structs.replace(doubt, passed=True)
    assert "data loader" in rank_sentence(figures(computed=0.3, loader=0.7, trust=[passed]))


def test_a_failed_check_takes_everything_away() -> None:
    doubt = failed("compiling", "torch.compile was at work for 60% of the window", "gpu", "idle")
    assert rank_sentence(figures(computed=0.9, host=0.1, trust=[doubt])) == (
        "What the GPU did cannot be told: torch.compile was at work for 60% of the window; "
        "as recorded, it computed for 90 % of this step."
    )


def test_several_ranks() -> None:
    slow = msgspec.structs.replace(figures(computed=0.2, loader=0.8), rank=1)
    fast = figures(computed=0.9, host=0.1)
    ranks = [msgspec.structs.replace(one, sentence=rank_sentence(one)) for one in (fast, slow)]
    assert report_sentence(ranks, None, None).startswith(
        "Rank 1 of 2 recorded: the GPU waited for the data loader"
    )
    assert report_sentence(ranks, 1, 0.5).startswith(
        "The other ranks waited for rank 1 in collectives, 50 % of the window more than it waited itself; "
        "on rank 1: the GPU waited"
    )
    assert report_sentence(ranks[:1], None, None).startswith("Compute-bound")
    assert report_sentence([], None, None) == "No trace of this window could be read."


def test_a_rank_that_is_not_believed_speaks_for_none_that_is() -> None:
    lost = failed("truncated", "x", "gpu", "idle")
    ranks = [
        msgspec.structs.replace(one, rank=number, sentence=rank_sentence(one))
        for number, one in enumerate(
            (figures(computed=0.1, host=0.9, trust=[lost]), figures(computed=0.9, host=0.1))
        )
    ]
    assert report_sentence(ranks, None, None).startswith("Rank 1 of 2 recorded: compute-bound")
    assert report_sentence([ranks[0], ranks[0]], None, None).startswith(
        "Rank 0 of 2 recorded: what the GPU did"
    )


def test_it_never_advises() -> None:
    reports = [
        figures(computed=0.9, host=0.1),
        figures(computed=0.3, loader=0.7),
        figures(computed=0.3, host=0.7, drained=0.7),
        figures(computed=0.3, host=0.7, launches=launched(1, 1)),
        figures(computed=0.3, comm=0.7),
        figures(computed=0.3, queued=0.7),
        figures(computed=0.6, host=0.1, loader=0.15),
    ]
    copy = CopyFigures(
        kind="HtoD (Pageable -> Device)",
        pageable=True,
        count=1,
        total_us=4e5,
        mib=1.0,
        gib_s=1.0,
        exposed_us=4e5,
        per_step=1,
    )
    sync = SyncFigures(
        call="cudaStreamSynchronize",
        operator="aten::item",
        where="t.py:3 f",
        count=2,
        per_step=2,
        total_us=1,
        share=0,
    )
    reports += [msgspec.structs.replace(one, memcpy=[copy], syncs=[sync]) for one in reports]
    for sentence in map(rank_sentence, reports):
        assert ADVICE.search(sentence) is None, sentence
    assert "(cudaStreamSynchronize in aten::item at t.py:3 f, 2 a step)" in rank_sentence(reports[9])
